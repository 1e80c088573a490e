// A conversation as the token ids that a chat model was trained on: the model's own template, run
// by an interpreter of the part of Jinja that such templates use (stacking/tokenizers/jinja).
// Invariant: names of special tokens in messages and tools stay text, whatever the template does
// with them, so that nobody can forge a message. Without such names the ids are those of the
// rendered text with special tokens recognised.
// Threading: const and any thread. Errors: NotFound (the model has no template); Malformed and
// Unsupported, with the template's line; TooLarge; Mismatch: the template refuses the conversation,
// in its own words; those of ModelTokenizer::encode(); Reject. Cost: bounded by jinja/limits.hpp.
#pragma once

#include "stacking/tokenizers/jinja/template.hpp"
#include "stacking/tokenizers/model_tokenizer.hpp"
#include "swarm/base/result.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace stacking::tokenizers {

enum class ChatRole { System, User, Assistant, Tool };

struct ChatMessage {
    ChatRole role = ChatRole::User;
    std::string content{};
    /// Further fields that the template may read, such as `tool_calls` and `name`.
    boost::json::object more{};
};

enum class AfterMessages { Nothing, BeginAnswer };

/// Data of a template beside the messages.
struct ChatSetting {
    AfterMessages after = AfterMessages::BeginAnswer;
    /// Seconds since 1970 by the clock of the place; templates may tell the model the date.
    std::int64_t now_s = 0;
    /// Functions that the model may call, as in OpenAI's API.
    boost::json::array tools{};
};

class ChatTemplate {
 public:
    /// Compiles the template of the model's files.
    static swarm::Result<ChatTemplate> compile(const ModelTokenizer& tokenizer);

    /// Returns the text that the template makes, and which bytes of it are from messages and tools.
    [[nodiscard]] swarm::Result<jinja::Text> render(
        std::span<const ChatMessage> messages, const ChatSetting& setting
    ) const;

    /// `tokenizer`: the one that the template was compiled with.
    [[nodiscard]] swarm::Result<std::vector<std::uint32_t>> encode(
        const ModelTokenizer& tokenizer,
        std::span<const ChatMessage> messages,
        const ChatSetting& setting
    ) const;

 private:
    ChatTemplate(jinja::Template jinja, std::vector<NamedText> variables)
        : template_(std::move(jinja)), variables_(std::move(variables)) {}

    jinja::Template template_;
    std::vector<NamedText> variables_;  // such as bos_token
};

}  // namespace stacking::tokenizers
