#include "stacking/tokenizers/chat_template.hpp"

#include <utility>

namespace stacking::tokenizers {

using swarm::Error;
using swarm::ErrorCode;
using swarm::Reaction;
using swarm::Result;

namespace {

constexpr std::string_view kSmolLM2 =
    "{% for message in messages %}"
    "{% if loop.first and messages[0]['role'] != 'system' %}"
    "{{ '<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by Hugging Face"
    "<|im_end|>\n' }}"
    "{% endif %}"
    "{{'<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n'}}"
    "{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}";

constexpr const char* kDefaultSystem =
    "You are a helpful AI assistant named SmolLM, trained by Hugging Face";

std::string name_of(ChatRole role) {
    switch (role) {
        case ChatRole::System:
            return "system";
        case ChatRole::User:
            return "user";
        case ChatRole::Assistant:
            return "assistant";
    }
    return "user";
}

Error unsupported(std::string what) {
    return {ErrorCode::Unsupported, Reaction::Reject, std::move(what)};
}

using Ids = std::vector<std::uint32_t>;

Result<> append_text(const ByteBpe& bpe, const std::string& text, Ids& ids) {
    const auto more = bpe.encode(text, SpecialTokens::AsText);
    if (more.has_error()) {
        return more.error();
    }
    ids.insert(ids.end(), more->begin(), more->end());
    return {};
}

}  // namespace

Result<ChatTemplate> ChatTemplate::recognise(std::string_view jinja, const ByteBpe& bpe) {
    if (jinja != kSmolLM2) {
        return unsupported(
            "the model's chat template is not known (only SmolLM2-Instruct's is); use a raw prompt"
        );
    }
    const auto begin_turn = bpe.find_special("<|im_start|>");
    const auto end_turn = bpe.find_special("<|im_end|>");
    if (!begin_turn || !end_turn) {
        return unsupported("the tokenizer lacks <|im_start|> or <|im_end|> of its chat template");
    }
    return ChatTemplate(*begin_turn, *end_turn);
}

Result<Ids> ChatTemplate::encode(
    const ByteBpe& bpe, std::span<const ChatMessage> messages, AfterMessages after
) const {
    std::vector<ChatMessage> turns(messages.begin(), messages.end());
    if (!turns.empty() && turns.front().role != ChatRole::System) {
        turns.insert(turns.begin(), {ChatRole::System, kDefaultSystem});
    }
    Ids ids;
    for (const ChatMessage& turn : turns) {
        ids.push_back(begin_turn_);
        const std::string text = name_of(turn.role) + "\n" + turn.content;
        if (auto done = append_text(bpe, text, ids); done.has_error()) {
            return done.error();
        }
        ids.push_back(end_turn_);
        if (auto done = append_text(bpe, "\n", ids); done.has_error()) {
            return done.error();
        }
    }
    if (after == AfterMessages::BeginAnswer) {
        ids.push_back(begin_turn_);
        const std::string text = name_of(ChatRole::Assistant) + "\n";
        if (auto done = append_text(bpe, text, ids); done.has_error()) {
            return done.error();
        }
    }
    return ids;
}

}  // namespace stacking::tokenizers
