// The history of a terminal conversation, and the commands that begin with a slash.
// Invariant: messages() is what the model is asked next: the system message, if there is one, and
// then questions and answers in turns.
// Threading: one thread. Errors: a command that is not understood is told.
#pragma once

#include "stacking/tokenizers/chat_template.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace swarm::cli {

class Conversation {
 public:
    enum class Kind : std::uint8_t {
        Nothing,  // an empty line
        Ask,      // the model is to answer messages()
        Tell,     // `text` is for the person
        Save,     // to the file `text`
        End,
    };

    struct Step {
        Kind kind = Kind::Nothing;
        std::string text{};
    };

    explicit Conversation(std::optional<std::string> system = {}) : system_(std::move(system)) {}

    /// Takes a line that a person typed: a message, or a command.
    Step take(std::string_view line);

    /// Adds the answer to the last question, or what came of it before the person stopped it.
    void add_answer(std::string text);

    /// Takes the last question back, because it got no answer.
    void drop_question();

    [[nodiscard]] std::vector<stacking::tokenizers::ChatMessage> messages() const;

    /// {"messages": [..]}, as in OpenAI's API.
    [[nodiscard]] std::string to_json() const;

 private:
    Step undo();
    Step set_system(std::string_view text);

    std::optional<std::string> system_;
    std::vector<stacking::tokenizers::ChatMessage> turns_;
};

}  // namespace swarm::cli
