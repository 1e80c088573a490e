#include "stacking/tokenizers/gguf_vocabulary.hpp"

#include "stacking/models/byte_source.hpp"
#include "stacking/tokenizers/gguf_chains.hpp"
#include "stacking/tokenizers/tokenizer_json.hpp"
#include "swarm/base/try.hpp"

#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace stacking::tokenizers {

using models::GgufHeader;
using swarm::Error;
using swarm::ErrorCode;
using swarm::Reaction;
using swarm::Result;

namespace {

using GgufTexts = std::vector<std::string>;
using GgufNumbers = std::vector<std::int64_t>;

/// GgufNumbers that tokenizer.ggml.token_type uses.
enum class TokenType : std::int64_t {
    Normal = 1,
    Unknown = 2,
    Control = 3,
    UserDefined = 4,
    Unused = 5,
    Byte = 6
};

Error bad_gguf(ErrorCode code, const std::string& what) {
    return {code, Reaction::Reject, "GGUF: " + what};
}

Error unknown_name(const char* key, const std::string& name) {
    return bad_gguf(
        ErrorCode::Unsupported,
        std::string(key) + " is \"" + models::printable(name) + "\", which is not known here"
    );
}

std::string text_of(const GgufHeader& header, const char* key, const char* by_default) {
    const auto* const text = header.find<std::string>(key);
    return text == nullptr ? std::string(by_default) : *text;
}

bool switch_of(const GgufHeader& header, const char* key, bool by_default) {
    const bool* const found = header.find<bool>(key);
    return found == nullptr ? by_default : *found;
}

/// Returns the id under a key; nullopt: there is none, or it is no token.
std::optional<std::uint32_t> id_of(const GgufHeader& header, const char* key, std::size_t tokens) {
    const auto* const id = header.find<std::uint64_t>(key);
    return id == nullptr || *id >= tokens ? std::nullopt
                                          : std::optional(static_cast<std::uint32_t>(*id));
}

/// Sorts the tokens by their types. Tokens that are never made get no score.
Result<> read_types(const GgufNumbers& types, Vocabulary& vocabulary) {
    const bool scored = !vocabulary.scores.empty();
    for (std::size_t i = 0; i < types.size(); ++i) {
        const auto id = static_cast<std::uint32_t>(i);
        switch (static_cast<TokenType>(types[i])) {
            case TokenType::Normal:
                continue;
            case TokenType::UserDefined:
                vocabulary.added_tokens.push_back({id});
                continue;
            case TokenType::Unknown:
                vocabulary.unknown = scored ? std::optional(id) : std::nullopt;
                vocabulary.special_tokens.push_back(id);
                break;
            case TokenType::Control:
                vocabulary.special_tokens.push_back(id);
                break;
            case TokenType::Unused:
            case TokenType::Byte:
                break;
            default:
                return bad_gguf(
                    ErrorCode::Unsupported,
                    "token " + std::to_string(id) + " is of type " + std::to_string(types[i])
                );
        }
        if (scored) {
            vocabulary.scores[id] = kNoScore;
        }
    }
    return {};
}

Result<> read_merges(const GgufHeader& header, Vocabulary& vocabulary) {
    const auto* const merges = header.find<GgufTexts>("tokenizer.ggml.merges");
    if (merges == nullptr) {
        return bad_gguf(ErrorCode::Malformed, "tokenizer.ggml.merges is missing");
    }
    for (const std::string& text : *merges) {
        auto merge = split_merge(text);
        if (!merge) {
            return bad_gguf(ErrorCode::Malformed, "a merge is not two tokens");
        }
        vocabulary.merges.push_back(std::move(*merge));
    }
    return {};
}

Result<> read_scores(const GgufHeader& header, Vocabulary& vocabulary) {
    const auto* const scores = header.find<std::vector<float>>("tokenizer.ggml.scores");
    if (scores == nullptr || scores->size() != vocabulary.tokens.size()) {
        return bad_gguf(
            ErrorCode::Malformed, "tokenizer.ggml.scores are missing, or not one for each token"
        );
    }
    for (const float score : *scores) {
        if (!std::isfinite(score)) {
            return bad_gguf(ErrorCode::NotFinite, "a score of tokenizer.ggml.scores is no number");
        }
    }
    vocabulary.scores = *scores;
    vocabulary.byte_fallback = true;
    vocabulary.unknowns_merge = true;
    return {};
}

/// Sets the tokens around a text.
Result<> read_template(const GgufHeader& header, bool adds_begin, Vocabulary& vocabulary) {
    struct Side {
        const char* adds;
        const char* id;
        bool by_default;
    };

    constexpr const char* kAddsBegin = "tokenizer.ggml.add_bos_token";
    constexpr const char* kAddsEnd = "tokenizer.ggml.add_eos_token";
    const Side sides[] = {
        {kAddsBegin, "tokenizer.ggml.bos_token_id", adds_begin},
        {kAddsEnd, "tokenizer.ggml.eos_token_id", false}};
    std::vector<std::uint32_t> around[2];
    for (std::size_t i = 0; i < 2; ++i) {
        const auto id = id_of(header, sides[i].id, vocabulary.tokens.size());
        if (!switch_of(header, sides[i].adds, id && sides[i].by_default)) {
            continue;
        }
        if (!id) {
            return bad_gguf(
                ErrorCode::Malformed,
                std::string(sides[i].adds) + " is true, but there is no such token"
            );
        }
        around[i].push_back(*id);
    }
    vocabulary.parts.post_processor = make_template(vocabulary, around[0], around[1]);
    return {};
}

}  // namespace

Result<Vocabulary> read_gguf_vocabulary(const GgufHeader& header) {
    const std::string model = text_of(header, "tokenizer.ggml.model", "missing");
    const std::string pre = text_of(header, "tokenizer.ggml.pre", "default");
    const bool is_llama = model == "llama";
    const auto chain = find_gguf_chain(pre);
    if (!is_llama && model != "gpt2") {
        return unknown_name("tokenizer.ggml.model", model);
    }
    if (!is_llama && !chain) {
        return unknown_name("tokenizer.ggml.pre", pre);
    }
    const auto* const tokens = header.find<GgufTexts>("tokenizer.ggml.tokens");
    const auto* const types = header.find<GgufNumbers>("tokenizer.ggml.token_type");
    if (tokens == nullptr || types == nullptr || types->size() != tokens->size() ||
        tokens->size() > kTokensMax) {
        return bad_gguf(
            ErrorCode::Malformed, "tokenizer.ggml.{tokens, token_type} are missing or unlike"
        );
    }
    Vocabulary vocabulary;
    vocabulary.tokens = *tokens;
    if (is_llama) {
        SWARM_TRY(read_scores(header, vocabulary));
        vocabulary.parts =
            sentence_piece_parts(switch_of(header, "tokenizer.ggml.add_space_prefix", true));
    } else {
        SWARM_TRY(read_merges(header, vocabulary));
        vocabulary.parts = chain->parts;
        vocabulary.ignore_merges = chain->ignore_merges;
        if (switch_of(header, "tokenizer.ggml.add_space_prefix", false)) {
            return bad_gguf(ErrorCode::Unsupported, "tokenizer.ggml.add_space_prefix is true");
        }
    }
    SWARM_TRY(read_types(*types, vocabulary));
    SWARM_TRY(read_template(header, is_llama || chain->adds_begin_token, vocabulary));
    return vocabulary;
}

}  // namespace stacking::tokenizers
