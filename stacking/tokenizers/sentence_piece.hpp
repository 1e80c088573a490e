// SentencePiece BPE as runs of our own use it: trained on the corpus, kept as tokenizer.model.
// Invariants: decode(encode(text)) is the text, whatever its bytes: what has no piece becomes the
// tokens of its bytes. Pieces lie within a line, and no piece has a byte below 0x20. The same text
// and number of tokens give the same file, byte for byte; the same file gives the same ids.
// Threading: const and any thread. Errors: Malformed (a file that is none), Unsupported (one that
// changes texts, or lacks bytes), TooLarge, Mismatch (a text that does not give so many tokens; an
// id that is none); Reject. Cost: on one core training takes 1.5 s and encoding 1.2 s for 4 MB of
// prose and 2,000 tokens; a training looks at kTrainingBytesMax of the text at most.
#pragma once

#include "stages/checkpoint_manifest.hpp"
#include "swarm/base/digest.hpp"
#include "swarm/base/result.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace stacking::tokenizers {

class SentencePiece {
 public:
    static constexpr std::size_t kFileBytesMax = stages::kTokenizerBytesMax;
    static constexpr std::uint32_t kTokensMax = 1U << 16;
    static constexpr std::size_t kTrainingBytesMax = 64U << 20;

    /// Exactly `tokens` of them.
    static swarm::Result<SentencePiece> train(std::string_view text, std::uint32_t tokens);

    /// The bytes of a tokenizer.model.
    static swarm::Result<SentencePiece> parse(std::string file);

    [[nodiscard]] swarm::Result<std::vector<std::uint32_t>> encode(std::string_view text) const;

    /// The bytes of the tokens one after another. Any piece of it may end within a character: see
    /// Utf8Stream.
    [[nodiscard]] swarm::Result<std::string> decode(std::span<const std::uint32_t> ids) const;

    [[nodiscard]] std::uint32_t size() const;

    /// What parse() takes.
    [[nodiscard]] const std::string& file() const;

    /// Of the file.
    [[nodiscard]] swarm::Digest sha256() const;

 private:
    struct Model;

    explicit SentencePiece(std::shared_ptr<const Model> model) : model_(std::move(model)) {}

    std::shared_ptr<const Model> model_;
};

}  // namespace stacking::tokenizers
