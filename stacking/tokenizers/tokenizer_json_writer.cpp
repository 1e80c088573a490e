#include "stacking/tokenizers/tokenizer_json.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include <map>
#include <utility>

namespace stacking::tokenizers {

namespace json = boost::json;

namespace {

json::array added_tokens(const Vocabulary& vocabulary) {
    struct Token {
        AddedToken how;
        bool special = false;
    };

    std::map<std::uint32_t, Token> tokens;
    for (const AddedToken& token : vocabulary.added_tokens) {
        tokens[token.id].how = token;
    }
    for (const std::uint32_t id : vocabulary.special_tokens) {
        tokens[id].special = true;
    }
    json::array added;
    for (const auto& [id, token] : tokens) {
        added.push_back(
            {{"id", id},
             {"content", vocabulary.tokens[id]},
             {"single_word", token.how.whole_word},
             {"lstrip", token.how.takes_left_space},
             {"rstrip", token.how.takes_right_space},
             {"normalized", token.how.normalized},
             {"special", token.special}}
        );
    }
    return added;
}

/// A merge whose tokens have a space in them cannot be one text.
json::value merge_value(const std::pair<std::string, std::string>& merge) {
    const auto& [left, right] = merge;
    if (left.find(' ') != std::string::npos || right.find(' ') != std::string::npos) {
        return json::array{left, right};
    }
    return json::value(left + " " + right);
}

json::object model(const Vocabulary& vocabulary) {
    json::object tokens;
    for (std::size_t id = 0; id < vocabulary.tokens.size(); ++id) {
        tokens[vocabulary.tokens[id]] = id;
    }
    json::array merges;
    for (const auto& merge :
         vocabulary.scores.empty() ? vocabulary.merges : merges_of_scores(vocabulary)) {
        merges.push_back(merge_value(merge));
    }
    const json::value unknown =
        vocabulary.unknown ? json::value(vocabulary.tokens[*vocabulary.unknown]) : json::value();
    return {
        {"type", "BPE"},
        {"dropout", nullptr},
        {"unk_token", unknown},
        {"continuing_subword_prefix", nullptr},
        {"end_of_word_suffix", nullptr},
        {"fuse_unk", vocabulary.unknowns_merge},
        {"byte_fallback", vocabulary.byte_fallback},
        {"ignore_merges", vocabulary.ignore_merges},
        {"vocab", std::move(tokens)},
        {"merges", std::move(merges)}};
}

}  // namespace

std::string make_tokenizer_json(const Vocabulary& vocabulary) {
    const json::object tokenizer{
        {"version", "1.0"},
        {"truncation", nullptr},
        {"padding", nullptr},
        {"added_tokens", added_tokens(vocabulary)},
        {"normalizer", json::parse(vocabulary.parts.normalizer)},
        {"pre_tokenizer", json::parse(vocabulary.parts.pre_tokenizer)},
        {"post_processor", json::parse(vocabulary.parts.post_processor)},
        {"decoder", json::parse(vocabulary.parts.decoder)},
        {"model", model(vocabulary)}};
    return json::serialize(tokenizer);
}

std::string make_template(
    const Vocabulary& vocabulary,
    const std::vector<std::uint32_t>& begin_tokens,
    const std::vector<std::uint32_t>& end_tokens
) {
    if (begin_tokens.empty() && end_tokens.empty()) {
        return kNoPart;
    }
    json::array single;
    json::array pair;
    json::object names;
    const auto add_tokens = [&](const std::vector<std::uint32_t>& ids, int text) {
        for (const std::uint32_t id : ids) {
            const std::string& name = vocabulary.tokens[id];
            const json::object entry{{"SpecialToken", {{"id", name}, {"type_id", text}}}};
            (text == 0 ? single : pair).push_back(entry);
            names[name] = {{"id", name}, {"ids", json::array{id}}, {"tokens", json::array{name}}};
        }
    };
    const json::object first{{"Sequence", {{"id", "A"}, {"type_id", 0}}}};
    const json::object second{{"Sequence", {{"id", "B"}, {"type_id", 1}}}};
    add_tokens(begin_tokens, 0);
    single.push_back(first);
    add_tokens(end_tokens, 0);
    pair = single;
    add_tokens(begin_tokens, 1);
    pair.push_back(second);
    add_tokens(end_tokens, 1);
    return json::serialize(json::object{
        {"type", "TemplateProcessing"},
        {"single", std::move(single)},
        {"pair", std::move(pair)},
        {"special_tokens", std::move(names)}});
}

}  // namespace stacking::tokenizers
