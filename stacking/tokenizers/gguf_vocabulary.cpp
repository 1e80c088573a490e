#include "stacking/tokenizers/gguf_vocabulary.hpp"

#include "stacking/models/byte_source.hpp"
#include "swarm/base/try.hpp"

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

/// Numbers that tokenizer.ggml.token_type uses.
enum class TokenType : std::int64_t { Normal = 1, Control = 3, UserDefined = 4 };

Error refused(ErrorCode code, const std::string& what) {
    return {code, Reaction::Reject, "GGUF: " + what};
}

Result<> require_text(const GgufHeader& header, const char* key, const char* only) {
    const auto* const text = header.find<std::string>(key);
    if (text == nullptr || *text != only) {
        return refused(
            ErrorCode::Unsupported,
            std::string(key) + " is \"" +
                models::printable(text == nullptr ? std::string("missing") : *text) +
                "\"; only \"" + only + "\" can be read"
        );
    }
    return {};
}

Result<> check_kind(const GgufHeader& header) {
    SWARM_TRY(require_text(header, "tokenizer.ggml.model", "gpt2"));
    SWARM_TRY(require_text(header, "tokenizer.ggml.pre", "smollm"));
    for (const char* const key :
         {"tokenizer.ggml.add_bos_token",
          "tokenizer.ggml.add_eos_token",
          "tokenizer.ggml.add_space_prefix"}) {
        if (const bool* const adds = header.find<bool>(key); adds != nullptr && *adds) {
            return refused(ErrorCode::Unsupported, std::string(key) + " is true");
        }
    }
    return {};
}

}  // namespace

Result<Vocabulary> read_gguf_vocabulary(const GgufHeader& header) {
    SWARM_TRY(check_kind(header));
    using Texts = std::vector<std::string>;
    const auto* const tokens = header.find<Texts>("tokenizer.ggml.tokens");
    const auto* const merges = header.find<Texts>("tokenizer.ggml.merges");
    const auto* const types = header.find<std::vector<std::int64_t>>("tokenizer.ggml.token_type");
    if (tokens == nullptr || merges == nullptr || types == nullptr ||
        types->size() != tokens->size()) {
        return refused(
            ErrorCode::Malformed,
            "tokenizer.ggml.{tokens, token_type, merges} are missing or unlike"
        );
    }
    Vocabulary vocabulary;
    vocabulary.tokens = *tokens;
    for (std::size_t id = 0; id < types->size(); ++id) {
        const auto type = static_cast<TokenType>((*types)[id]);
        if (type == TokenType::Control || type == TokenType::UserDefined) {
            vocabulary.special_tokens.push_back(static_cast<std::uint32_t>(id));
        } else if (type != TokenType::Normal) {
            return refused(
                ErrorCode::Unsupported,
                "token " + std::to_string(id) + " is of type " + std::to_string((*types)[id])
            );
        }
    }
    for (const std::string& text : *merges) {
        auto merge = split_merge(text);
        if (!merge) {
            return refused(ErrorCode::Malformed, "a merge is not two tokens");
        }
        vocabulary.merges.push_back(std::move(*merge));
    }
    return vocabulary;
}

}  // namespace stacking::tokenizers
