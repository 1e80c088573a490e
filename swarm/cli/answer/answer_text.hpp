// The answer for people: its text on stdout as the tokens come, its speeds on stderr.
// Threading: one thread.
#pragma once

#include "stacking/tokenizers/answer_text.hpp"

#include <boost/json/value.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace swarm::cli {

/// Writes text as its tokens come, and keeps it. Before the first character nothing is written.
class TextStream {
 public:
    /// `before`: text that stands before the generated text. `stops`: stop texts.
    TextStream(
        const stacking::tokenizers::ModelTokenizer& tokenizer,
        std::string before,
        std::vector<std::string> stops
    )
        : generated_(tokenizer, std::move(stops)), before_(std::move(before)) {}

    /// False: standard output takes no more, or the text has ended at a stop text.
    [[nodiscard]] bool add(std::uint32_t token);

    [[nodiscard]] bool is_stopped() const { return generated_.is_stopped(); }

    /// Writes the rest and a line feed; returns all text that was generated or stood before it.
    std::string finish();

 private:
    void write(const std::string& text);

    stacking::tokenizers::AnswerText generated_;
    std::string before_;
    std::string text_;
};

/// "decode      47 tokens     1.92 s     24.5 tokens/s"
std::string timing_line(const char* what, std::size_t tokens, double seconds);

/// Returns tokens per second for --json; null: no token was counted.
boost::json::value rate_as_json(std::size_t tokens, double seconds);

}  // namespace swarm::cli
