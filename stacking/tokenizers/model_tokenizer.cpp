#include "stacking/tokenizers/model_tokenizer.hpp"

#include "stacking/models/gguf_header.hpp"
#include "stacking/models/gguf_parts.hpp"
#include "stacking/models/limits.hpp"
#include "stacking/models/run_checkpoint.hpp"
#include "stacking/tokenizers/byte_alphabet.hpp"
#include "stacking/tokenizers/gguf_vocabulary.hpp"
#include "stacking/tokenizers/sentence_piece_file.hpp"
#include "stacking/tokenizers/tokenizer_file.hpp"
#include "stacking/tokenizers/tokenizer_json.hpp"
#include "stages/files/checkpoint_manifest.hpp"
#include "stages/files/strict_json.hpp"
#include "swarm/base/durable_file.hpp"
#include "swarm/base/try.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include <algorithm>
#include <span>
#include <system_error>
#include <utility>

namespace stacking::tokenizers {

namespace fs = std::filesystem;
namespace json = boost::json;
using swarm::Error;
using swarm::ErrorCode;
using swarm::Reaction;
using swarm::Result;

namespace {

constexpr const char* kTokenizerName = "tokenizer.json";
constexpr const char* kPiecesName = stages::kTokenizerFile;
constexpr const char* kConfigName = "tokenizer_config.json";
constexpr const char* kTemplateName = "chat_template.jinja";

Result<ModelTokenizer> with_path(Result<ModelTokenizer> made, const fs::path& path) {
    if (made.has_error()) {
        const Error& error = made.error();
        return Error{error.code, error.reaction, path.string() + ": " + error.detail};
    }
    return made;
}

Result<ModelTokenizer> make(Result<Vocabulary> vocabulary, ChatFiles chat) {
    SWARM_TRY(auto tokens, std::move(vocabulary));
    SWARM_TRY(auto bpe, ByteBpe::make(std::move(tokens)));
    ModelTokenizer tokenizer(std::move(bpe), std::move(chat.jinja));
    tokenizer.set_chat_variables(std::move(chat.variables));
    return tokenizer;
}

Result<ModelTokenizer> make_pieces(Result<std::string> file) {
    SWARM_TRY(auto bytes, std::move(file));
    SWARM_TRY(auto pieces, SentencePiece::parse(std::move(bytes)));
    return ModelTokenizer(std::move(pieces));
}

/// The tokenizer of our own runs that name no other: token i is byte i.
Result<ModelTokenizer> byte_tokenizer() {
    Vocabulary vocabulary;
    for (unsigned byte = 0; byte < 256; ++byte) {
        vocabulary.tokens.push_back(letter_of(static_cast<std::uint8_t>(byte)));
    }
    return make(std::move(vocabulary), {});
}

Result<ModelTokenizer> open_run_tokenizer(const fs::path& folder) {
    SWARM_TRY(auto file, models::read_run_tokenizer(folder));
    return file.empty() ? byte_tokenizer()
                        : with_path(parse_tokenizer_file(std::move(file)), folder);
}

Result<ModelTokenizer> open_gguf_tokenizer(const fs::path& path) {
    SWARM_TRY(const auto file, models::open_file(models::first_gguf_part(path)));
    const auto header = models::read_gguf_header(*file);
    if (header.has_error()) {
        return with_path(header.error(), path);
    }
    return with_path(make(read_gguf_vocabulary(*header), read_chat_files(*header)), path);
}

/// Reads tokenizer_config.json; an empty object when the folder has none.
Result<json::object> read_tokenizer_config(const fs::path& folder) {
    std::error_code ignored;
    if (!fs::exists(folder / kConfigName, ignored)) {
        return json::object();
    }
    SWARM_TRY(const auto text, models::read_text(folder / kConfigName, models::kConfigBytesMax));
    auto config = stages::parse_strict_json(text);
    if (config.has_error() || !config->is_object()) {
        return Error{
            ErrorCode::Malformed,
            Reaction::Reject,
            (folder / kConfigName).string() + ": no JSON object"};
    }
    return std::move(config->get_object());
}

/// Opens tokenizer.model: one of others, which has tokens such as <s>, or one of our own runs.
Result<ModelTokenizer> open_pieces(const fs::path& folder) {
    SWARM_TRY(auto file, models::read_text(folder / kPiecesName, kSentencePieceBytesMax));
    if (!has_control_tokens(file)) {
        return make_pieces(std::move(file));
    }
    SWARM_TRY(const auto config, read_tokenizer_config(folder));
    SWARM_TRY(auto chat, read_chat_files(folder));
    const auto is_on = [&](const char* key, bool by_default) {
        const json::value* const value = config.if_contains(key);
        return value == nullptr || !value->is_bool() ? by_default : value->get_bool();
    };
    const TokensAround around{is_on("add_bos_token", true), is_on("add_eos_token", false)};
    return make(read_sentence_piece_file(file, around), std::move(chat));
}

Result<> write_text(const fs::path& path, const std::string& text) {
    return swarm::write_durably(path, std::as_bytes(std::span(text)), "choose another folder");
}

}  // namespace

Result<ModelTokenizer> open_tokenizer(const fs::path& model) {
    std::error_code ignored;
    if (!fs::is_directory(model, ignored)) {
        return open_gguf_tokenizer(model);
    }
    if (models::is_run_checkpoint(model)) {
        return open_run_tokenizer(model);
    }
    if (!fs::exists(model / kTokenizerName, ignored) && fs::exists(model / kPiecesName, ignored)) {
        return with_path(open_pieces(model), model);
    }
    SWARM_TRY(const auto text, models::read_text(model / kTokenizerName, kTokenizerJsonBytesMax));
    SWARM_TRY(auto chat, read_chat_files(model));
    return with_path(make(parse_tokenizer_json(text), std::move(chat)), model);
}

Result<std::vector<std::uint32_t>> ModelTokenizer::encode(
    std::string_view text, SpecialTokens special, WordCache* words
) const {
    const ByteBpe* const own = bpe();
    return own != nullptr ? own->encode(text, special, words) : pieces()->encode(text);
}

Result<std::string> ModelTokenizer::decode(std::span<const std::uint32_t> ids) const {
    const ByteBpe* const own = bpe();
    return own != nullptr ? own->decode(ids) : pieces()->decode(ids);
}

Result<std::string> ModelTokenizer::decode_whole(std::span<const std::uint32_t> ids) const {
    const ByteBpe* const own = bpe();
    return own != nullptr ? own->decode_whole(ids) : pieces()->decode(ids);
}

Result<std::vector<std::uint32_t>> ModelTokenizer::encode_beginning(
    std::string_view text, SpecialTokens special, WordCache* words
) const {
    SWARM_TRY(auto ids, encode(text, special, words));
    put_beginning(ids);
    return ids;
}

void ModelTokenizer::put_beginning(std::vector<std::uint32_t>& ids) const {
    const ByteBpe* const own = bpe();
    const auto begin = own == nullptr ? std::span<const std::uint32_t>() : own->begin_tokens();
    const bool has_them =
        ids.size() >= begin.size() && std::equal(begin.begin(), begin.end(), ids.begin());
    if (!has_them) {
        ids.insert(ids.begin(), begin.begin(), begin.end());
    }
}

Result<CountedTokens> ModelTokenizer::encode_counted(
    std::string_view text, SpecialTokens special, WordCache* words
) const {
    if (const ByteBpe* const own = bpe()) {
        return own->encode_counted(text, special, words);
    }
    CountedTokens counted;
    SWARM_TRY(counted.ids, pieces()->encode(text));
    return counted;
}

std::vector<SpecialToken> ModelTokenizer::special_tokens() const {
    std::vector<SpecialToken> specials;
    if (const ByteBpe* const own = bpe()) {
        for (const std::uint32_t id : own->vocabulary().special_tokens) {
            specials.push_back({id, own->vocabulary().tokens[id]});
        }
    }
    return specials;
}

std::uint32_t ModelTokenizer::size() const {
    const ByteBpe* const own = bpe();
    return own != nullptr ? own->size() : pieces()->size();
}

bool ModelTokenizer::has_tokens_of(const ModelTokenizer& other) const {
    if (bpe() != nullptr && other.bpe() != nullptr) {
        return bpe()->vocabulary().tokens == other.bpe()->vocabulary().tokens;
    }
    return pieces() != nullptr && other.pieces() != nullptr &&
           pieces()->file() == other.pieces()->file();
}

Result<> check_fits(const ModelTokenizer& tokenizer, std::uint32_t vocabulary) {
    if (tokenizer.size() <= vocabulary) {
        return {};
    }
    return Error{
        ErrorCode::Mismatch,
        Reaction::Reject,
        "the tokenizer has " + std::to_string(tokenizer.size()) + " tokens, the model " +
            std::to_string(vocabulary) + "; it is another model's"};
}

Result<> write_tokenizer(
    const ModelTokenizer& tokenizer, std::optional<std::uint32_t> end_token, const fs::path& folder
) {
    if (tokenizer.pieces() != nullptr) {
        return write_text(folder / kPiecesName, tokenizer.pieces()->file());
    }
    const Vocabulary& vocabulary = tokenizer.bpe()->vocabulary();
    json::object config{
        {"tokenizer_class", "PreTrainedTokenizerFast"}, {"clean_up_tokenization_spaces", false}};
    if (end_token && *end_token < vocabulary.tokens.size()) {
        config["eos_token"] = vocabulary.tokens[*end_token];
    }
    if (const auto begin = tokenizer.bpe()->begin_tokens(); !begin.empty()) {
        config["bos_token"] = vocabulary.tokens[begin.front()];
    }
    for (const auto& [name, text] : tokenizer.chat_variables()) {
        config.emplace(name, text);
    }
    if (!tokenizer.chat_template().empty()) {
        config["chat_template"] = tokenizer.chat_template();
    }
    SWARM_TRY(write_text(folder / kTokenizerName, make_tokenizer_json(vocabulary)));
    SWARM_TRY(write_text(folder / kConfigName, json::serialize(config) + "\n"));
    if (!tokenizer.chat_template().empty()) {
        SWARM_TRY(write_text(folder / kTemplateName, tokenizer.chat_template()));
    }
    return {};
}

}  // namespace stacking::tokenizers
