#include "stacking/tokenizers/tokenizer_json.hpp"

#include "stacking/tokenizers/chain/json_fields.hpp"
#include "stages/files/strict_json.hpp"
#include "swarm/base/try.hpp"

#include <boost/json/serialize.hpp>

#include <optional>
#include <utility>

namespace stacking::tokenizers {

namespace json = boost::json;
using swarm::Error;
using swarm::ErrorCode;
using swarm::Reaction;
using swarm::Result;

namespace {

Error too_large(const std::string& what) {
    return {ErrorCode::TooLarge, Reaction::Reject, "tokenizer.json: " + what};
}

/// Whether a member is absent, null, false, zero or an empty text.
bool is_off(const json::object& object, std::string_view key) {
    const json::value* const value = find_field(object, key);
    return value == nullptr || *value == json::value(false) || *value == json::value("") ||
           (value->is_number() && value->to_number<double>() == 0);
}

Result<> check_model(const json::object& tokenizer, const json::object& model) {
    const std::string_view type = text_field(model, "type");
    if (find_field(model, "type") != nullptr && type != "BPE") {
        return unsupported_part("model " + shown(type) + " is not known here; only BPE is");
    }
    for (const char* const key : {"truncation", "padding"}) {
        if (!is_off(tokenizer, key)) {
            return unsupported_part(std::string(key) + " is not known here");
        }
    }
    for (const char* const key : {"dropout", "continuing_subword_prefix", "end_of_word_suffix"}) {
        if (!is_off(model, key)) {
            return unsupported_part("model." + std::string(key) + " is not known here");
        }
    }
    return {};
}

Result<> place(Vocabulary& vocabulary, std::uint32_t id, std::string_view token) {
    std::string& slot = vocabulary.tokens[id];
    if (token.empty() || (!slot.empty() && slot != token)) {
        return malformed_part("two tokens, or an empty one, have id " + std::to_string(id));
    }
    slot = token;
    return {};
}

Result<> add_added_token(const json::value& entry, Vocabulary& vocabulary) {
    const json::object* const token = entry.if_object();
    if (token == nullptr) {
        return malformed_part("an added token is no object");
    }
    const auto id = to_id(find_field(*token, "id"), vocabulary.tokens.size());
    const std::string_view content = text_field(*token, "content");
    const auto special = switch_field(*token, "special", false);
    const auto left = switch_field(*token, "lstrip", false);
    const auto right = switch_field(*token, "rstrip", false);
    const auto word = switch_field(*token, "single_word", false);
    const auto normalized = switch_field(*token, "normalized", !special.value_or(false));
    if (!id || content.empty() || !special || !left || !right || !word || !normalized) {
        return malformed_part("an added token lacks its id or content, or has no proper switches");
    }
    if (*special) {
        vocabulary.special_tokens.push_back(*id);
    }
    if (!*special || *left || *right || *word || *normalized) {
        vocabulary.added_tokens.push_back({*id, *left, *right, *word, *normalized});
    }
    return place(vocabulary, *id, content);
}

/// Reads all tokens. Ids run from 0 on without holes; an added token is one of the vocabulary's or
/// a new one.
Result<> read_tokens(const json::object& tokens, const json::array* added, Vocabulary& vocabulary) {
    const std::size_t added_count = added == nullptr ? 0 : added->size();
    if (tokens.size() > kTokensMax || added_count > kAddedTokensMax) {
        return too_large("too many tokens");
    }
    vocabulary.tokens.resize(tokens.size() + added_count);
    for (const auto& token : tokens) {
        const auto id = to_id(&token.value(), vocabulary.tokens.size());
        if (!id) {
            return malformed_part("an id of the vocabulary is out of range");
        }
        SWARM_TRY(place(vocabulary, *id, token.key()));
    }
    for (std::size_t i = 0; i < added_count; ++i) {
        SWARM_TRY(add_added_token((*added)[i], vocabulary));
    }
    while (!vocabulary.tokens.empty() && vocabulary.tokens.back().empty()) {
        vocabulary.tokens.pop_back();  // room for an added token that the vocabulary has, too
    }
    for (std::size_t id = 0; id < vocabulary.tokens.size(); ++id) {
        if (vocabulary.tokens[id].empty()) {
            return malformed_part("no token has id " + std::to_string(id));
        }
    }
    return {};
}

/// Reads a merge as "a b", which older files have, or as ["a", "b"].
std::optional<std::pair<std::string, std::string>> to_merge(const json::value& value) {
    if (const json::array* const pair = value.if_array()) {
        if (pair->size() != 2 || !(*pair)[0].is_string() || !(*pair)[1].is_string() ||
            (*pair)[0].get_string().empty() || (*pair)[1].get_string().empty()) {
            return std::nullopt;
        }
        return std::pair(
            std::string((*pair)[0].get_string()), std::string((*pair)[1].get_string())
        );
    }
    const json::string* const text = value.if_string();
    return text == nullptr ? std::nullopt : split_merge(std::string_view(*text));
}

Result<> read_merges(const json::array& merges, Vocabulary& vocabulary) {
    if (merges.size() > kMergesMax) {
        return too_large("too many merges");
    }
    for (const json::value& value : merges) {
        auto merge = to_merge(value);
        if (!merge) {
            return malformed_part("a merge is not two tokens");
        }
        vocabulary.merges.push_back(std::move(*merge));
    }
    return {};
}

Result<> read_switches(const json::object& model, Vocabulary& vocabulary) {
    const auto fallback = switch_field(model, "byte_fallback", false);
    const auto merge = switch_field(model, "fuse_unk", false);
    const auto ignore = switch_field(model, "ignore_merges", false);
    if (!fallback || !merge || !ignore) {
        return malformed_part("a switch of the model is neither true nor false");
    }
    vocabulary.byte_fallback = *fallback;
    vocabulary.unknowns_merge = *merge;
    vocabulary.ignore_merges = *ignore;
    if (const json::value* const unknown = find_field(model, "unk_token")) {
        const json::object* const tokens = find_object(model, "vocab");
        const json::value* const id =
            unknown->is_string() ? tokens->if_contains(unknown->get_string()) : nullptr;
        vocabulary.unknown = to_id(id, vocabulary.tokens.size());
        if (!vocabulary.unknown) {
            return malformed_part("unk_token is not in the vocabulary");
        }
    }
    return {};
}

std::string text_of_part(const json::object& tokenizer, std::string_view key) {
    const json::value* const part = find_field(tokenizer, key);
    return part == nullptr ? kNoPart : json::serialize(*part);
}

}  // namespace

Result<Vocabulary> parse_tokenizer_json(std::string_view text) {
    if (text.size() > kTokenizerJsonBytesMax) {
        return too_large("more than 64 MiB");
    }
    const auto parsed = stages::parse_strict_json(text);
    if (parsed.has_error()) {
        return malformed_part(parsed.error().detail);
    }
    const json::object* const tokenizer = parsed->if_object();
    const json::object* const model =
        tokenizer == nullptr ? nullptr : find_object(*tokenizer, "model");
    if (model == nullptr) {
        return malformed_part("there is no model");
    }
    SWARM_TRY(check_model(*tokenizer, *model));
    Vocabulary vocabulary;
    vocabulary.parts.normalizer = text_of_part(*tokenizer, "normalizer");
    vocabulary.parts.pre_tokenizer = text_of_part(*tokenizer, "pre_tokenizer");
    vocabulary.parts.post_processor = text_of_part(*tokenizer, "post_processor");
    vocabulary.parts.decoder = text_of_part(*tokenizer, "decoder");
    const json::object* const tokens = find_object(*model, "vocab");
    const json::array* const merges = find_array(*model, "merges");
    if (tokens == nullptr || merges == nullptr) {
        return malformed_part("the model has no vocab or no merges");
    }
    SWARM_TRY(read_tokens(*tokens, find_array(*tokenizer, "added_tokens"), vocabulary));
    SWARM_TRY(read_merges(*merges, vocabulary));
    SWARM_TRY(read_switches(*model, vocabulary));
    return vocabulary;
}

}  // namespace stacking::tokenizers
