#include "stacking/tokenizers/chat_template.hpp"

#include "stacking/tokenizers/marked_text.hpp"
#include "stacking/tokenizers/utf8.hpp"
#include "swarm/base/try.hpp"

#include <boost/json/value.hpp>

#include <utility>

namespace stacking::tokenizers {

using swarm::Error;
using swarm::ErrorCode;
using swarm::Reaction;
using swarm::Result;

namespace {

using jinja::Dict;
using jinja::Origin;
using jinja::Value;

/// Names of roles are the template's: some build a special token around them.
const char* name_of(ChatRole role) {
    switch (role) {
        case ChatRole::System:
            return "system";
        case ChatRole::User:
            return "user";
        case ChatRole::Assistant:
            return "assistant";
        case ChatRole::Tool:
            return "tool";
    }
    return "user";
}

Result<Value> value_of(const ChatMessage& message) {
    if (utf8_prefix(message.content) != message.content.size()) {
        return Error{ErrorCode::Malformed, Reaction::Reject, "the text is no UTF-8"};
    }
    std::vector<Dict::Entry> fields;
    fields.emplace_back(jinja::make_text("role"), jinja::make_text(name_of(message.role)));
    fields.emplace_back(
        jinja::make_text("content"), Value(jinja::Text(message.content, Origin::Data))
    );
    for (const auto& [name, json] : message.more) {
        SWARM_TRY(Value value, jinja::from_json(json, Origin::Data));
        fields.emplace_back(Value(jinja::Text(name, Origin::Data)), std::move(value));
    }
    return jinja::make_dict(std::move(fields));
}

}  // namespace

Result<ChatTemplate> ChatTemplate::compile(const ModelTokenizer& tokenizer) {
    if (tokenizer.chat_template().empty()) {
        return Error{ErrorCode::NotFound, Reaction::Reject, "the model has no chat template"};
    }
    SWARM_TRY(auto jinja, jinja::Template::compile(tokenizer.chat_template()));
    return ChatTemplate(std::move(jinja), tokenizer.chat_variables());
}

Result<jinja::Text> ChatTemplate::render(
    std::span<const ChatMessage> messages, const ChatSetting& setting
) const {
    std::vector<Value> all;
    for (const ChatMessage& message : messages) {
        SWARM_TRY(Value value, value_of(message));
        all.push_back(std::move(value));
    }
    SWARM_TRY(Value list, jinja::make_list(std::move(all)));
    Value tools = jinja::None{};
    if (!setting.tools.empty()) {
        SWARM_TRY(tools, jinja::from_json(boost::json::value(setting.tools), Origin::Data));
    }
    jinja::Variables variables{
        {"messages", std::move(list)},
        {"tools", std::move(tools)},
        {"documents", jinja::None{}},
        {"add_generation_prompt", setting.after == AfterMessages::BeginAnswer}};
    for (const auto& [name, text] : variables_) {
        variables.emplace_back(name, jinja::make_text(text));
    }
    return template_.render(variables, setting.now_s);
}

Result<std::vector<std::uint32_t>> ChatTemplate::encode(
    const ModelTokenizer& tokenizer,
    std::span<const ChatMessage> messages,
    const ChatSetting& setting
) const {
    SWARM_TRY(const jinja::Text text, render(messages, setting));
    return encode_marked(text, tokenizer);
}

}  // namespace stacking::tokenizers
