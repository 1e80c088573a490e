#include "stacking/tokenizers/tokenizer_json.hpp"

#include "stages/files/strict_json.hpp"
#include "swarm/base/try.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

namespace stacking::tokenizers {

namespace json = boost::json;
using swarm::Error;
using swarm::ErrorCode;
using swarm::Reaction;
using swarm::Result;

namespace {

Error refused(ErrorCode code, const std::string& what) {
    return {code, Reaction::Reject, "tokenizer.json: " + what};
}

Error malformed(const std::string& what) {
    return refused(ErrorCode::Malformed, what);
}

/// Returns null when the member is absent or null.
const json::value* find(const json::object& object, std::string_view key) {
    const json::value* const value = object.if_contains({key.data(), key.size()});
    return value == nullptr || value->is_null() ? nullptr : value;
}

const json::object* find_object(const json::object& object, std::string_view key) {
    const json::value* const value = find(object, key);
    return value == nullptr ? nullptr : value->if_object();
}

const json::array* find_array(const json::object& object, std::string_view key) {
    const json::value* const value = find(object, key);
    return value == nullptr ? nullptr : value->if_array();
}

bool is_text(const json::value* value, std::string_view text) {
    return value != nullptr && value->is_string() && std::string_view(value->get_string()) == text;
}

/// Whether a switch is off; an absent switch is off.
bool is_off(const json::object& object, std::string_view key) {
    const json::value* const value = find(object, key);
    return value == nullptr || (value->is_bool() && !value->get_bool());
}

bool is_on(const json::object& object, std::string_view key) {
    const json::value* const value = find(object, key);
    return value != nullptr && value->is_bool() && value->get_bool();
}

/// Whether a member is absent, null or an empty string.
bool is_empty(const json::object& object, std::string_view key) {
    const json::value* const value = find(object, key);
    return value == nullptr || is_text(value, "");
}

bool is_byte_level(const json::object& part) {
    return is_text(find(part, "type"), "ByteLevel") && is_off(part, "add_prefix_space") &&
           (find(part, "use_regex") == nullptr || is_on(part, "use_regex"));
}

bool splits_as_we_do(const json::object& tokenizer) {
    const json::object* const sequence = find_object(tokenizer, "pre_tokenizer");
    if (sequence == nullptr || !is_text(find(*sequence, "type"), "Sequence")) {
        return false;
    }
    const json::array* const parts = find_array(*sequence, "pretokenizers");
    if (parts == nullptr || parts->size() != 2 || !(*parts)[0].is_object() ||
        !(*parts)[1].is_object()) {
        return false;
    }
    const json::object& digits = (*parts)[0].get_object();
    return is_text(find(digits, "type"), "Digits") && is_on(digits, "individual_digits") &&
           is_byte_level((*parts)[1].get_object());
}

/// Whether the post-processor adds no tokens.
bool post_processes_nothing(const json::object& tokenizer) {
    const json::object* const part = find_object(tokenizer, "post_processor");
    return find(tokenizer, "post_processor") == nullptr ||
           (part != nullptr && is_text(find(*part, "type"), "ByteLevel"));
}

bool decodes_bytes(const json::object& tokenizer) {
    const json::object* const part = find_object(tokenizer, "decoder");
    return part != nullptr && is_text(find(*part, "type"), "ByteLevel");
}

/// Returns an error that names the first part of the chain that differs.
Result<> check_chain(const json::object& tokenizer, const json::object& model) {
    struct Part {
        const char* name;
        bool known;
    };

    const json::value* const type = find(model, "type");
    const Part parts[] = {
        {"normalizer", find(tokenizer, "normalizer") == nullptr},
        {"truncation", find(tokenizer, "truncation") == nullptr},
        {"padding", find(tokenizer, "padding") == nullptr},
        {"pre_tokenizer", splits_as_we_do(tokenizer)},
        {"post_processor", post_processes_nothing(tokenizer)},
        {"decoder", decodes_bytes(tokenizer)},
        {"model.type", type == nullptr || is_text(type, "BPE")},
        {"model.dropout", find(model, "dropout") == nullptr},
        {"model.unk_token", find(model, "unk_token") == nullptr},
        {"model.byte_fallback", is_off(model, "byte_fallback")},
        {"model.fuse_unk", is_off(model, "fuse_unk")},
        {"model.ignore_merges", is_off(model, "ignore_merges")},
        {"model.continuing_subword_prefix", is_empty(model, "continuing_subword_prefix")},
        {"model.end_of_word_suffix", is_empty(model, "end_of_word_suffix")},
    };
    for (const Part& part : parts) {
        if (!part.known) {
            return refused(
                ErrorCode::Unsupported,
                std::string(part.name) + " is not that of byte-level BPE with single digits"
            );
        }
    }
    return {};
}

/// Reads a whole number below `end`.
std::optional<std::uint32_t> to_id(const json::value* value, std::size_t end) {
    if (value == nullptr || !value->is_int64() || value->get_int64() < 0 ||
        static_cast<std::uint64_t>(value->get_int64()) >= end) {
        return std::nullopt;
    }
    return static_cast<std::uint32_t>(value->get_int64());
}

Result<> place(Vocabulary& vocabulary, std::uint32_t id, std::string_view token) {
    std::string& slot = vocabulary.tokens[id];
    if (token.empty() || (!slot.empty() && slot != token)) {
        return malformed("two tokens, or an empty one, have id " + std::to_string(id));
    }
    slot = token;
    return {};
}

Result<> add_special_token(const json::value& entry, Vocabulary& vocabulary) {
    const json::object* const token = entry.if_object();
    if (token == nullptr) {
        return malformed("an added token is no object");
    }
    const auto id = to_id(find(*token, "id"), vocabulary.tokens.size());
    const json::value* const content = find(*token, "content");
    if (!id || content == nullptr || !content->is_string()) {
        return malformed("an added token lacks its id or content");
    }
    if (!is_on(*token, "special") || !is_off(*token, "lstrip") || !is_off(*token, "rstrip") ||
        !is_off(*token, "single_word")) {
        return refused(
            ErrorCode::Unsupported,
            "added token " + std::to_string(*id) + " is not special, or takes its surroundings"
        );
    }
    vocabulary.special_tokens.push_back(*id);
    return place(vocabulary, *id, content->get_string());
}

/// Reads all tokens. Ids run from 0 on without holes; an added token is one of the vocabulary's or
/// a new one.
Result<> read_tokens(const json::object& tokens, const json::array* added, Vocabulary& vocabulary) {
    const std::size_t added_count = added == nullptr ? 0 : added->size();
    if (tokens.size() > kTokensMax || added_count > kSpecialTokensMax) {
        return refused(ErrorCode::TooLarge, "too many tokens");
    }
    vocabulary.tokens.resize(tokens.size() + added_count);
    for (const auto& token : tokens) {
        const auto id = to_id(&token.value(), vocabulary.tokens.size());
        if (!id) {
            return malformed("an id of the vocabulary is out of range");
        }
        SWARM_TRY(place(vocabulary, *id, token.key()));
    }
    for (std::size_t i = 0; i < added_count; ++i) {
        SWARM_TRY(add_special_token((*added)[i], vocabulary));
    }
    while (!vocabulary.tokens.empty() && vocabulary.tokens.back().empty()) {
        vocabulary.tokens.pop_back();  // room for an added token that the vocabulary has, too
    }
    for (std::size_t id = 0; id < vocabulary.tokens.size(); ++id) {
        if (vocabulary.tokens[id].empty()) {
            return malformed("no token has id " + std::to_string(id));
        }
    }
    return {};
}

/// Reads a merge as "a b", which older files have, or as ["a", "b"].
std::optional<std::pair<std::string, std::string>> to_merge(const json::value& value) {
    if (const json::array* const pair = value.if_array()) {
        if (pair->size() != 2 || !(*pair)[0].is_string() || !(*pair)[1].is_string()) {
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
    if (merges.size() > kTokensMax) {
        return refused(ErrorCode::TooLarge, "too many merges");
    }
    for (const json::value& value : merges) {
        auto merge = to_merge(value);
        if (!merge) {
            return malformed("a merge is not two tokens");
        }
        vocabulary.merges.push_back(std::move(*merge));
    }
    return {};
}

json::object added_token(std::uint32_t id, const std::string& content) {
    return {
        {"id", id},
        {"content", content},
        {"single_word", false},
        {"lstrip", false},
        {"rstrip", false},
        {"normalized", false},
        {"special", true}};
}

}  // namespace

Result<Vocabulary> parse_tokenizer_json(std::string_view text) {
    if (text.size() > kTokenizerJsonBytesMax) {
        return refused(ErrorCode::TooLarge, "more than 64 MiB");
    }
    const auto parsed = stages::parse_strict_json(text);
    if (parsed.has_error()) {
        return malformed(parsed.error().detail);
    }
    const json::object* const tokenizer = parsed->if_object();
    const json::object* const model =
        tokenizer == nullptr ? nullptr : find_object(*tokenizer, "model");
    if (model == nullptr) {
        return malformed("there is no model");
    }
    SWARM_TRY(check_chain(*tokenizer, *model));
    const json::object* const tokens = find_object(*model, "vocab");
    const json::array* const merges = find_array(*model, "merges");
    if (tokens == nullptr || merges == nullptr) {
        return malformed("the model has no vocab or no merges");
    }
    Vocabulary vocabulary;
    const json::array* const added = find_array(*tokenizer, "added_tokens");
    SWARM_TRY(read_tokens(*tokens, added, vocabulary));
    SWARM_TRY(read_merges(*merges, vocabulary));
    return vocabulary;
}

std::string make_tokenizer_json(const Vocabulary& vocabulary) {
    json::array added;
    std::vector<std::uint32_t> special = vocabulary.special_tokens;
    std::sort(special.begin(), special.end());
    for (const std::uint32_t id : special) {
        added.push_back(added_token(id, vocabulary.tokens[id]));
    }
    json::object tokens;
    for (std::size_t id = 0; id < vocabulary.tokens.size(); ++id) {
        tokens[vocabulary.tokens[id]] = id;
    }
    json::array merges;
    for (const auto& [left, right] : vocabulary.merges) {
        json::string& merge = merges.emplace_back(left).get_string();
        merge.push_back(' ');
        merge.append(right);
    }
    const json::object byte_level{
        {"type", "ByteLevel"},
        {"add_prefix_space", false},
        {"trim_offsets", true},
        {"use_regex", true}};
    const json::object digits{{"type", "Digits"}, {"individual_digits", true}};
    const json::object tokenizer{
        {"version", "1.0"},
        {"truncation", nullptr},
        {"padding", nullptr},
        {"added_tokens", std::move(added)},
        {"normalizer", nullptr},
        {"pre_tokenizer",
         {{"type", "Sequence"}, {"pretokenizers", json::array{digits, byte_level}}}},
        {"post_processor", nullptr},
        {"decoder", byte_level},
        {"model",
         {{"type", "BPE"},
          {"dropout", nullptr},
          {"unk_token", nullptr},
          {"continuing_subword_prefix", nullptr},
          {"end_of_word_suffix", nullptr},
          {"fuse_unk", false},
          {"byte_fallback", false},
          {"ignore_merges", false},
          {"vocab", std::move(tokens)},
          {"merges", std::move(merges)}}}};
    return json::serialize(tokenizer);
}

}  // namespace stacking::tokenizers
