// The tokenizer in a model's files, and its chat template.
//   GGUF file              tokenizer.ggml.*, tokenizer.chat_template
//   Hugging Face folder    tokenizer.json; chat_template.jinja, or chat_template in
//                          tokenizer_config.json; without it tokenizer.model, which others or a
//                          run of ours trained
//   checkpoint of a run    tokenizer.model or tokenizer.json; without one the tokens are bytes
// Threading: const and any thread; opening reads files and keeps none open. Errors: those of each
// reader; a model without a chat template is no error.
// Cost: opening reads the GGUF's header, or tokenizer.json, once.
#pragma once

#include "stacking/tokenizers/byte_bpe.hpp"
#include "stacking/tokenizers/chat_files.hpp"
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

struct SpecialToken {
    std::uint32_t id = 0;
    std::string name{};
};

class ModelTokenizer {
 public:
    /// `chat_template`: Jinja text for ChatTemplate::compile(); empty: no template.
    explicit ModelTokenizer(ByteBpe bpe, std::string chat_template = {})
        : kind_(std::move(bpe)), chat_template_(std::move(chat_template)) {}

    explicit ModelTokenizer(SentencePiece pieces) : kind_(std::move(pieces)) {}

    /// SentencePiece has no special tokens and ignores `special`. `words`: null, or a cache
    /// for this tokenizer alone, which a caller with many texts keeps between them.
    [[nodiscard]] swarm::Result<std::vector<std::uint32_t>> encode(
        std::string_view text, SpecialTokens special, WordCache* words = nullptr
    ) const;
    /// Returns the tokens of the beginning of a text, as a model was trained on it: those that
    /// belong before each text come first, unless the text names them itself.
    [[nodiscard]] swarm::Result<std::vector<std::uint32_t>> encode_beginning(
        std::string_view text, SpecialTokens special, WordCache* words = nullptr
    ) const;
    /// Returns also how much of the text has no token. SentencePiece has tokens for all of it.
    [[nodiscard]] swarm::Result<CountedTokens> encode_counted(
        std::string_view text, SpecialTokens special, WordCache* words = nullptr
    ) const;
    /// Puts the tokens there that belong before each text, unless `ids` begin with them.
    void put_beginning(std::vector<std::uint32_t>& ids) const;
    [[nodiscard]] swarm::Result<std::string> decode(std::span<const std::uint32_t> ids) const;
    /// Returns the bytes of a whole text: without the space that encoding put before it.
    [[nodiscard]] swarm::Result<std::string> decode_whole(std::span<const std::uint32_t> ids) const;
    [[nodiscard]] std::uint32_t size() const;

    /// Whether both tokenizers have the same tokens under the same ids.
    [[nodiscard]] bool has_tokens_of(const ModelTokenizer& other) const;

    // bpe() and pieces() return null for the other kind.
    [[nodiscard]] const ByteBpe* bpe() const { return std::get_if<ByteBpe>(&kind_); }

    [[nodiscard]] const SentencePiece* pieces() const { return std::get_if<SentencePiece>(&kind_); }

    [[nodiscard]] const std::string& chat_template() const { return chat_template_; }

    /// Texts that the chat template may name, such as bos_token.
    [[nodiscard]] const std::vector<NamedText>& chat_variables() const { return chat_variables_; }

    void set_chat_variables(std::vector<NamedText> variables) {
        chat_variables_ = std::move(variables);
    }

    /// Tokens that encode() makes of their names with SpecialTokens::Recognised, and never with
    /// AsText.
    [[nodiscard]] std::vector<SpecialToken> special_tokens() const;

 private:
    std::variant<ByteBpe, SentencePiece> kind_;
    std::string chat_template_;
    std::vector<NamedText> chat_variables_;
};

swarm::Result<ModelTokenizer> open_tokenizer(const std::filesystem::path& model);

/// Returns Mismatch when the tokenizer has ids that the model does not have: it belongs to another
/// model. A model may have more ids than its tokenizer; these rows are padding.
swarm::Result<> check_fits(const ModelTokenizer& tokenizer, std::uint32_t vocabulary);

/// Writes tokenizer.json, tokenizer_config.json and chat_template.jinja into a Hugging Face folder;
/// for SentencePiece it writes tokenizer.model. Errors: StorageFailed (Fatal).
swarm::Result<> write_tokenizer(
    const ModelTokenizer& tokenizer,
    std::optional<std::uint32_t> end_token,
    const std::filesystem::path& folder
);

}  // namespace stacking::tokenizers
