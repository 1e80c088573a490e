#include "stacking/api/prompt_reading.hpp"

#include "stacking/tokenizers/utf8.hpp"
#include "swarm/base/try.hpp"

#include <utility>

namespace stacking::api {
namespace {

using tokenizers::ChatMessage;
using tokenizers::ChatRole;
using Tokens = std::vector<TokenId>;

bool is_list_of_ids(const json::value& value) {
    return value.is_array() && !value.get_array().empty() && value.get_array().front().is_number();
}

/// Refuses a text that cannot fit before its tokens are made, which would take long.
std::optional<node::WebError> check_bytes(
    const std::string& param, std::size_t bytes, const ApiModel& model
) {
    return model.is_too_long(bytes)
               ? std::optional(too_long(param, std::to_string(bytes) + " bytes", model))
               : std::nullopt;
}

/// Reads the text of a prompt; the tokens that belong before each text come first.
Answer<Tokens> read_beginning(std::string_view text, const ApiModel& model) {
    auto tokens = model.tokenizer.encode_beginning(text, tokenizers::SpecialTokens::Recognised);
    if (!tokens) {
        return bad_field("prompt", "cannot be read: " + tokens.error().detail);
    }
    return *std::move(tokens);
}

/// Reads one prompt: a text or a list of token ids.
Answer<Prompt> read_prompt(const json::value& value, const ApiModel& model) {
    Prompt prompt;
    if (value.is_string()) {
        prompt.text = value.get_string();
        if (auto error = check_bytes("prompt", prompt.text.size(), model)) {
            return *std::move(error);
        }
        SWARM_TRY(prompt.tokens, read_beginning(prompt.text, model));
    } else if (is_list_of_ids(value)) {
        SWARM_TRY(prompt.tokens, read_ids("prompt", value.get_array(), model));
        const auto text = model.tokenizer.decode(prompt.tokens);
        prompt.text = text ? tokenizers::to_utf8(*text) : "";
    } else {
        return bad_field(
            "prompt", "must be a text, a list of token ids, or a list of such prompts"
        );
    }
    return prompt;
}

Answer<ChatRole> read_role(const json::value* value) {
    const std::string_view role =
        value != nullptr && value->is_string() ? std::string_view(value->get_string()) : "";
    if (role == "user") {
        return ChatRole::User;
    }
    if (role == "assistant") {
        return ChatRole::Assistant;
    }
    if (role == "system" || role == "developer") {
        return ChatRole::System;
    }
    return bad_field("messages", "have the roles system, developer, user and assistant");
}

/// Reads a content: a text, or a list of parts that are texts.
Answer<std::string> read_content(const json::value* value) {
    if (value != nullptr && value->is_string()) {
        return std::string(value->get_string());
    }
    if (value == nullptr || !value->is_array()) {
        return bad_field("messages", "each want a content that is a text or a list of parts");
    }
    std::string text;
    for (const json::value& part : value->get_array()) {
        const json::object* const fields = part.if_object();
        const json::value* const type = fields ? fields->if_contains("type") : nullptr;
        const json::value* const words = fields ? fields->if_contains("text") : nullptr;
        const bool is_text = type != nullptr && type->is_string() && type->get_string() == "text" &&
                             words != nullptr && words->is_string();
        if (!is_text) {
            return bad_field("messages", "have parts of type text only: the model reads no images");
        }
        text += words->get_string();
    }
    return text;
}

Answer<std::vector<ChatMessage>> read_chat(const json::value* field) {
    if (field == nullptr || !field->is_array() || field->get_array().empty()) {
        return bad_field("messages", "must be a list with at least one message");
    }
    std::vector<ChatMessage> messages;
    for (const json::value& value : field->get_array()) {
        const json::object* const message = value.if_object();
        if (message == nullptr) {
            return bad_field("messages", "must be objects with role and content");
        }
        SWARM_TRY(const ChatRole role, read_role(message->if_contains("role")));
        SWARM_TRY(std::string content, read_content(message->if_contains("content")));
        messages.push_back({role, std::move(content)});
    }
    return messages;
}

}  // namespace

node::WebError too_long(const std::string& param, const std::string& size, const ApiModel& model) {
    node::WebError error = bad_field(
        param,
        "has " + size + "; the model's context is " + std::to_string(model.context) +
            " tokens, the answer included"
    );
    error.code = "context_length_exceeded";
    return error;
}

Answer<Tokens> read_text(std::string_view field, std::string_view text, const ApiModel& model) {
    auto tokens = model.tokenizer.encode(text, tokenizers::SpecialTokens::Recognised);
    if (!tokens) {
        return bad_field(std::string(field), "cannot be read: " + tokens.error().detail);
    }
    return *std::move(tokens);
}

Answer<Tokens> read_ids(std::string_view field, const json::array& ids, const ApiModel& model) {
    Tokens tokens;
    tokens.reserve(ids.size());
    for (const json::value& id : ids) {
        boost::system::error_code problem;
        const auto token = id.is_number() ? id.to_number<std::uint32_t>(problem) : 0;
        if (!id.is_number() || problem || token >= model.vocabulary) {
            return bad_field(std::string(field), "has a value that is no token of the model");
        }
        tokens.push_back(token);
    }
    return tokens;
}

Answer<Tokens> read_messages(
    const json::object& body, const ApiModel& model, std::int64_t now_unix_s
) {
    if (!model.chat) {
        return node::WebError{
            400,
            "no_chat_template",
            "the model has no chat template that can be run; use /v1/completions",
            {},
            "messages"};
    }
    SWARM_TRY(const auto messages, read_chat(RequestFields(body).find("messages")));
    std::size_t bytes = 0;
    for (const ChatMessage& message : messages) {
        bytes += message.content.size();
    }
    if (auto error = check_bytes("messages", bytes, model)) {
        return *std::move(error);
    }
    auto tokens = model.chat->encode(model.tokenizer, messages, {.now_s = now_unix_s});
    if (!tokens && tokens.error().code == swarm::ErrorCode::Mismatch) {
        return bad_field(
            "messages", "are refused by the model's chat template: " + tokens.error().detail
        );
    }
    if (!tokens) {
        return bad_field("messages", "cannot be read: " + tokens.error().detail);
    }
    return *std::move(tokens);
}

Answer<std::vector<Prompt>> read_prompts(const RequestFields& fields, const ApiModel& model) {
    const json::value* const field = fields.find("prompt");
    if (field == nullptr || (field->is_array() && field->get_array().empty())) {
        return bad_field("prompt", "is missing");
    }
    std::vector<Prompt> prompts;
    if (!field->is_array() || is_list_of_ids(*field)) {
        SWARM_TRY(auto prompt, read_prompt(*field, model));
        prompts.push_back(std::move(prompt));
        return prompts;
    }
    if (field->get_array().size() > kChoicesMax) {
        return bad_field("prompt", "has at most " + std::to_string(kChoicesMax) + " prompts");
    }
    for (const json::value& value : field->get_array()) {
        SWARM_TRY(auto prompt, read_prompt(value, model));
        prompts.push_back(std::move(prompt));
    }
    return prompts;
}

}  // namespace stacking::api
