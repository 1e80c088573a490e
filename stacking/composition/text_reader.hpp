// Reads a text token by token, or many tokens at a time, and gives scores of the token that
// follows. A reader is one model, or several as one. Sampling and measuring need no other
// interface.
// Invariant: the scores after a token are a function of the tokens read so far, however these were
// cut into calls.
// Threading: one thread. Shapes: (R, V) fp32. Errors: those of SessionCompute, after which the
// caller must begin the text again; Mismatch (Reject): the given parts do not belong together.
#pragma once

#include "stacking/row_coding.hpp"
#include "stacking/session_compute.hpp"

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace stacking::composition {

class TextReader {
 public:
    TextReader() = default;
    TextReader(const TextReader&) = delete;
    TextReader& operator=(const TextReader&) = delete;
    virtual ~TextReader() = default;

    [[nodiscard]] virtual std::uint32_t vocabulary() const = 0;
    /// Maximum tokens of one text.
    [[nodiscard]] virtual std::uint32_t context() const = 0;

    /// Forgets the text. The next text may have `tokens` tokens.
    [[nodiscard]] virtual swarm::Result<> begin(std::uint32_t tokens) = 0;

    /// Forgets the text behind its first `kept` tokens, of which a reader may keep fewer; the text
    /// may then have `tokens` tokens. Returns how many are kept. REQUIRES: so many were read.
    [[nodiscard]] virtual swarm::Result<std::uint32_t> resume(
        std::uint32_t kept, std::uint32_t tokens
    );

    enum class Wanted { AfterEach, AfterLast };

    /// Reads the tokens and returns the logits or log-probabilities of the token that follows each
    /// of them, or only the last one.
    [[nodiscard]] virtual swarm::Result<std::vector<float>> read(
        std::span<const TokenId> tokens, Wanted wanted
    ) = 0;
};

/// One model whose stages are all in this process, or a path through stages of one or several
/// models. The output of a stage is the input of the next one. Only the first stage takes tokens,
/// and only the last gives scores; a token that exits early is the exception: its scores come from
/// the first stage with a head whose best token is probable enough.
class ModelReader final : public TextReader {
 public:
    using Stages = std::vector<std::unique_ptr<SessionCompute>>;

    /// Returns Mismatch unless the first stage takes tokens, the last gives logits, and the widths
    /// fit. `exit_threshold`: least probability for an early exit; above 1 no token exits.
    /// `codecs`: codecs of the rows between stages, link by link, as if peers passed the rows on;
    /// `auto` means `none`, because there is no line here.
    static swarm::Result<std::unique_ptr<ModelReader>> make(
        Stages stages, double exit_threshold = 2, std::vector<RowCodec> codecs = {}
    );

    /// From now on each read() keeps what the stages before the last one say.
    void keep_exits() { keeps_exits_ = true; }

    /// The logits of such stages with a head, in order: (R, V) each, for the rows of the scores
    /// that the last read() returned.
    [[nodiscard]] const std::vector<std::vector<float>>& exits() const { return exits_; }

    [[nodiscard]] std::uint32_t vocabulary() const override;
    [[nodiscard]] std::uint32_t context() const override;
    [[nodiscard]] swarm::Result<> begin(std::uint32_t tokens) override;
    /// Keeps all `kept` tokens.
    [[nodiscard]] swarm::Result<std::uint32_t> resume(
        std::uint32_t kept, std::uint32_t tokens
    ) override;
    [[nodiscard]] swarm::Result<std::vector<float>> read(
        std::span<const TokenId> tokens, Wanted wanted
    ) override;

 private:
    ModelReader(Stages stages, double exit_threshold, std::vector<RowCodec> codecs)
        : stages_(std::move(stages)), exit_threshold_(exit_threshold), codecs_(std::move(codecs)) {}

    /// Replaces the rows behind a stage by the values that the next stage reads.
    [[nodiscard]] swarm::Result<> pass_on(std::size_t stage, std::vector<float>& values) const;

    Stages stages_;
    double exit_threshold_;
    std::vector<RowCodec> codecs_;
    CacheId cache_{0};  // cache of the current text; 0: no text yet
    std::uint32_t filled_ = 0;
    bool keeps_exits_ = false;
    std::vector<std::vector<float>> exits_;
};

}  // namespace stacking::composition
