// SentencePiece BPE of our own runs: trained on the corpus, kept as tokenizer.model.
// Invariants: decode(encode(text)) is the text, whatever its bytes; text without a piece becomes
// the tokens of its bytes. A piece lies within one line and has no byte below 0x20. The same text
// and number of tokens give the same file, byte for byte; the same file gives the same ids.
// Threading: const and any thread. Errors: Malformed (a file that is no tokenizer), Unsupported
// (one that changes texts or lacks bytes), TooLarge, Mismatch (a text that does not give so many
// tokens; an unknown id); Reject. Cost on one core, for 4 MB of prose and 2,000 tokens: training
// takes 1.5 s and encoding 1.2 s. Training looks at kTrainingBytesMax of the text at most.
#pragma once

#include "stages/files/checkpoint_manifest.hpp"
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

    /// Trains a tokenizer with exactly `tokens` tokens.
    static swarm::Result<SentencePiece> train(std::string_view text, std::uint32_t tokens);

    /// `file`: the bytes of a tokenizer.model.
    static swarm::Result<SentencePiece> parse(std::string file);

    [[nodiscard]] swarm::Result<std::vector<std::uint32_t>> encode(std::string_view text) const;

    /// Returns the bytes of the tokens one after another. Any piece of the bytes may end within a
    /// character: see Utf8Stream.
    [[nodiscard]] swarm::Result<std::string> decode(std::span<const std::uint32_t> ids) const;

    [[nodiscard]] std::uint32_t size() const;

    /// Bytes of the tokenizer.model, which parse() reads.
    [[nodiscard]] const std::string& file() const;

    /// SHA-256 of file().
    [[nodiscard]] swarm::Digest sha256() const;

 private:
    struct Loaded;

    explicit SentencePiece(std::shared_ptr<const Loaded> loaded) : loaded_(std::move(loaded)) {}

    std::shared_ptr<const Loaded> loaded_;
};

}  // namespace stacking::tokenizers
