#include "stacking/tokenizers/tokenizer_file.hpp"

#include "stacking/tokenizers/tokenizer_json.hpp"
#include "stages/files/strict_json.hpp"
#include "swarm/base/try.hpp"

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include <span>
#include <utility>

namespace stacking::tokenizers {

namespace json = boost::json;
using swarm::Result;

namespace {

constexpr const char* kOwnMember = "swarm";
constexpr const char* kTemplateMember = "chat_template";
constexpr const char* kVariablesMember = "chat_variables";

std::string text_at(const json::object& object, const char* key) {
    const json::value* const value = object.if_contains(key);
    return value != nullptr && value->is_string() ? std::string(value->get_string()) : "";
}

std::vector<NamedText> variables_at(const json::object& object) {
    std::vector<NamedText> variables;
    const json::value* const value = object.if_contains(kVariablesMember);
    if (value != nullptr && value->is_object()) {
        for (const auto& [name, text] : value->get_object()) {
            if (text.is_string()) {
                variables.emplace_back(std::string(name), std::string(text.get_string()));
            }
        }
    }
    return variables;
}

Result<ModelTokenizer> parse_json_file(const std::string& text) {
    SWARM_TRY(Vocabulary vocabulary, parse_tokenizer_json(text));
    SWARM_TRY(ByteBpe bpe, ByteBpe::make(std::move(vocabulary)));
    SWARM_TRY(const json::value whole, stages::parse_strict_json(text));
    const json::value* const own = whole.get_object().if_contains(kOwnMember);
    if (own == nullptr || !own->is_object()) {
        return ModelTokenizer(std::move(bpe));
    }
    ModelTokenizer tokenizer(std::move(bpe), text_at(own->get_object(), kTemplateMember));
    tokenizer.set_chat_variables(variables_at(own->get_object()));
    return tokenizer;
}

}  // namespace

std::string make_tokenizer_file(const ModelTokenizer& tokenizer) {
    if (tokenizer.pieces() != nullptr) {
        return tokenizer.pieces()->file();
    }
    std::string text = make_tokenizer_json(tokenizer.bpe()->vocabulary());
    json::object own;
    if (!tokenizer.chat_template().empty()) {
        own[kTemplateMember] = tokenizer.chat_template();
    }
    if (!tokenizer.chat_variables().empty()) {
        json::object variables;
        for (const auto& [name, value] : tokenizer.chat_variables()) {
            variables[name] = value;
        }
        own[kVariablesMember] = std::move(variables);
    }
    if (own.empty()) {
        return text;
    }
    json::object whole = std::move(json::parse(text).get_object());
    whole[kOwnMember] = std::move(own);
    return json::serialize(whole) + "\n";
}

swarm::Digest vocabulary_digest(const ModelTokenizer& tokenizer) {
    if (tokenizer.pieces() != nullptr) {
        return tokenizer.pieces()->sha256();
    }
    const std::string text = make_tokenizer_json(tokenizer.bpe()->vocabulary());
    return swarm::sha256(std::as_bytes(std::span(text)));
}

Result<ModelTokenizer> parse_tokenizer_file(std::string file) {
    if (file.starts_with('{')) {
        return parse_json_file(file);
    }
    SWARM_TRY(SentencePiece pieces, SentencePiece::parse(std::move(file)));
    return ModelTokenizer(std::move(pieces));
}

}  // namespace stacking::tokenizers
