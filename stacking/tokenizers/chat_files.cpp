#include "stacking/tokenizers/chat_files.hpp"

#include "stacking/models/limits.hpp"
#include "stacking/models/model_source.hpp"
#include "stages/files/strict_json.hpp"
#include "swarm/base/try.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include <system_error>

namespace stacking::tokenizers {

namespace fs = std::filesystem;
namespace json = boost::json;
using swarm::Error;
using swarm::ErrorCode;
using swarm::Reaction;
using swarm::Result;

namespace {

constexpr const char* kChatConfigName = "tokenizer_config.json";
constexpr const char* kChatTemplateName = "chat_template.jinja";
constexpr std::size_t kVariableBytesMax = 1000;

/// Variables of chat templates that name a token.
constexpr const char* kTokenVariables[] = {"bos_token", "eos_token", "unk_token", "pad_token"};

/// Finds the template in a text, or in a list of {"name", "template"}; null: there is none.
const json::string* find_template(const json::value& given) {
    const json::array* const list = given.if_array();
    if (list == nullptr) {
        return given.if_string();
    }
    for (const json::value& entry : *list) {
        const json::object* const named = entry.if_object();
        const json::value* const name = named == nullptr ? nullptr : named->if_contains("name");
        const json::value* const jinja =
            named == nullptr ? nullptr : named->if_contains("template");
        if (name != nullptr && *name == "default" && jinja != nullptr) {
            return jinja->if_string();
        }
    }
    return nullptr;
}

/// A variable of templates, and the key of a GGUF file that has its id.
struct NamedKey {
    const char* name;
    const char* key;
};

/// Returns a token's text: {"bos_token": "<s>"} or {"bos_token": {"content": "<s>"}}; null: none.
const json::string* find_token(const json::object& config, const char* name) {
    const json::value* given = config.if_contains(name);
    if (given != nullptr && given->is_object()) {
        given = given->get_object().if_contains("content");
    }
    return given == nullptr ? nullptr : given->if_string();
}

Error in_config(ErrorCode code, const fs::path& folder, const char* what) {
    return {code, Reaction::Reject, (folder / kChatConfigName).string() + ": " + what};
}

}  // namespace

Result<ChatFiles> read_chat_files(const fs::path& folder) {
    ChatFiles files;
    std::error_code ignored;
    const bool has_template = fs::exists(folder / kChatTemplateName, ignored);
    if (has_template) {
        SWARM_TRY(
            files.jinja, models::read_text(folder / kChatTemplateName, models::kConfigBytesMax)
        );
    }
    if (!fs::exists(folder / kChatConfigName, ignored)) {
        return files;
    }
    SWARM_TRY(
        const auto text, models::read_text(folder / kChatConfigName, models::kConfigBytesMax)
    );
    const auto config = stages::parse_strict_json(text);
    if (config.has_error() || !config->is_object()) {
        return in_config(ErrorCode::Malformed, folder, "no JSON object");
    }
    for (const char* const name : kTokenVariables) {
        const json::string* const token = find_token(config->get_object(), name);
        if (token != nullptr && token->size() <= kVariableBytesMax) {
            files.variables.emplace_back(name, std::string(*token));
        }
    }
    const json::value* const given = config->get_object().if_contains("chat_template");
    if (has_template || given == nullptr || given->is_null()) {
        return files;
    }
    const json::string* const jinja = find_template(*given);
    if (jinja == nullptr) {
        return in_config(ErrorCode::Unsupported, folder, "chat_template has no text named default");
    }
    files.jinja = std::string(*jinja);
    return files;
}

ChatFiles read_chat_files(const models::GgufHeader& header) {
    ChatFiles files;
    if (const auto* const jinja = header.find<std::string>("tokenizer.chat_template")) {
        files.jinja = *jinja;
    }
    using Texts = std::vector<std::string>;
    const auto* const tokens = header.find<Texts>("tokenizer.ggml.tokens");
    constexpr NamedKey kKeys[] = {
        {"bos_token", "tokenizer.ggml.bos_token_id"},
        {"eos_token", "tokenizer.ggml.eos_token_id"},
        {"unk_token", "tokenizer.ggml.unknown_token_id"},
        {"pad_token", "tokenizer.ggml.padding_token_id"}};
    for (const NamedKey& key : kKeys) {
        const auto* const id = header.find<std::uint64_t>(key.key);
        if (tokens != nullptr && id != nullptr && *id < tokens->size() &&
            (*tokens)[*id].size() <= kVariableBytesMax) {
            files.variables.emplace_back(key.name, (*tokens)[*id]);
        }
    }
    return files;
}

}  // namespace stacking::tokenizers
