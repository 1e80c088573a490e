#include "stacking/tokenizers/chat_template.hpp"

#include "swarm/base/try.hpp"

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
    SWARM_TRY(const auto more, bpe.encode(text, SpecialTokens::AsText));
    ids.insert(ids.end(), more.begin(), more.end());
    return {};
}

}  // namespace

Result<ChatTemplate> ChatTemplate::recognise(std::string_view jinja, const ByteBpe& bpe) {
    if (jinja.ends_with('\n')) {
        jinja.remove_suffix(1);  // Jinja leaves out the line feed that ends a file
    }
    if (jinja != kSmolLM2) {
        return unsupported(
            "the model's chat template is not known (only SmolLM2-Instruct's is); use a raw prompt"
        );
    }
    const auto begin_message = bpe.find_special("<|im_start|>");
    const auto end_message = bpe.find_special("<|im_end|>");
    if (!begin_message || !end_message) {
        return unsupported("the tokenizer lacks <|im_start|> or <|im_end|> of its chat template");
    }
    return ChatTemplate(*begin_message, *end_message);
}

Result<Ids> ChatTemplate::encode(
    const ByteBpe& bpe, std::span<const ChatMessage> messages, AfterMessages after
) const {
    std::vector<ChatMessage> all(messages.begin(), messages.end());
    if (!all.empty() && all.front().role != ChatRole::System) {
        all.insert(all.begin(), {ChatRole::System, kDefaultSystem});
    }
    Ids ids;
    for (const ChatMessage& message : all) {
        ids.push_back(begin_message_);
        SWARM_TRY(append_text(bpe, name_of(message.role) + "\n" + message.content, ids));
        ids.push_back(end_message_);
        SWARM_TRY(append_text(bpe, "\n", ids));
    }
    if (after == AfterMessages::BeginAnswer) {
        ids.push_back(begin_message_);
        SWARM_TRY(append_text(bpe, name_of(ChatRole::Assistant) + "\n", ids));
    }
    return ids;
}

}  // namespace stacking::tokenizers
