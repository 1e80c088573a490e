// The tokenizer that lies in a model's files, and its chat template.
//   GGUF file              tokenizer.ggml.*, tokenizer.chat_template
//   Hugging Face folder    tokenizer.json; chat_template.jinja, or chat_template in
//                          tokenizer_config.json; else tokenizer.model that a run has trained
//   checkpoint of a run    tokenizer.model; without one bytes are the tokens
// Errors: those of the readers of each; a model without a template has none, which is no error.
// Threading: reads files, keeps none open. Cost: reads the GGUF's header, or tokenizer.json, once.
#pragma once

#include "stacking/tokenizers/byte_bpe.hpp"
#include "stacking/tokenizers/sentence_piece.hpp"
#include "swarm/base/result.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace stacking::tokenizers {

class ModelTokenizer {
 public:
    /// `chat_template`: Jinja, for ChatTemplate::recognise(); empty: none.
    explicit ModelTokenizer(ByteBpe bpe, std::string chat_template = {})
        : kind_(std::move(bpe)), chat_template_(std::move(chat_template)) {}

    explicit ModelTokenizer(SentencePiece pieces) : kind_(std::move(pieces)) {}

    /// Of SentencePiece there are no special tokens.
    [[nodiscard]] swarm::Result<std::vector<std::uint32_t>> encode(
        std::string_view text, SpecialTokens special
    ) const;
    [[nodiscard]] swarm::Result<std::string> decode(std::span<const std::uint32_t> ids) const;
    [[nodiscard]] std::uint32_t size() const;

    /// The same tokens under the same ids.
    [[nodiscard]] bool has_tokens_of(const ModelTokenizer& other) const;

    /// Null for the other kind.
    [[nodiscard]] const ByteBpe* bpe() const { return std::get_if<ByteBpe>(&kind_); }

    [[nodiscard]] const SentencePiece* pieces() const { return std::get_if<SentencePiece>(&kind_); }

    [[nodiscard]] const std::string& chat_template() const { return chat_template_; }

 private:
    std::variant<ByteBpe, SentencePiece> kind_;
    std::string chat_template_;
};

swarm::Result<ModelTokenizer> open_tokenizer(const std::filesystem::path& model);

/// Mismatch when the tokenizer has ids that the model has not: it is another model's. A model may
/// have more than its tokenizer; such rows are padding.
swarm::Result<> check_fits(const ModelTokenizer& tokenizer, std::uint32_t vocabulary);

/// tokenizer.json, tokenizer_config.json and chat_template.jinja into a Hugging Face folder; of
/// SentencePiece tokenizer.model.
/// StorageFailed (Fatal).
swarm::Result<> write_tokenizer(
    const ModelTokenizer& tokenizer,
    std::optional<std::uint32_t> end_token,
    const std::filesystem::path& folder
);

}  // namespace stacking::tokenizers
