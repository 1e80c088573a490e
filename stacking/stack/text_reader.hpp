// Reads a text token by token, or many at a time, and says what could follow: one model, or several
// as one. What samples, and what measures, needs no more than this.
// Invariant: the scores after a token are a function of the tokens read so far, however they were
// cut into calls.
// Threading: one thread. Shapes: (R, V) fp32. Errors: those of SessionCompute, after which the
// text must begin anew; Mismatch (Reject): what was given does not belong together.
#pragma once

#include "stacking/row_coding.hpp"
#include "stacking/session_compute.hpp"

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace stacking::stack {

class TextReader {
 public:
    TextReader() = default;
    TextReader(const TextReader&) = delete;
    TextReader& operator=(const TextReader&) = delete;
    virtual ~TextReader() = default;

    [[nodiscard]] virtual std::uint32_t vocabulary() const = 0;
    /// Tokens that one text can have.
    [[nodiscard]] virtual std::uint32_t context() const = 0;

    /// Forgets the text; the next one may have so many tokens.
    [[nodiscard]] virtual swarm::Result<> begin(std::uint32_t tokens) = 0;

    enum class Wanted { AfterEach, AfterLast };

    /// Logits, or log-probabilities, of what follows each of these tokens, or the last one.
    [[nodiscard]] virtual swarm::Result<std::vector<float>> read(
        std::span<const TokenId> tokens, Wanted wanted
    ) = 0;
};

/// One model, whose stages lie in this process: each one's output is the next one's input. Or a
/// path through stages of one or several: only the first takes tokens, only the last gives scores,
/// but for a token that exits early, at a stage with a head whose best token is likely enough.
class ModelReader final : public TextReader {
 public:
    using Stages = std::vector<std::unique_ptr<SessionCompute>>;

    /// Mismatch unless the first takes tokens, the last gives logits, and the widths fit.
    /// `exit_threshold`: above 1 nothing exits. `codecs`: of the rows between stages, link by link,
    /// as if peers passed them on; with `auto` none, for here is no line.
    static swarm::Result<std::unique_ptr<ModelReader>> make(
        Stages stages, double exit_threshold = 2, std::vector<RowCodec> codecs = {}
    );

    [[nodiscard]] std::uint32_t vocabulary() const override;
    [[nodiscard]] std::uint32_t context() const override;
    [[nodiscard]] swarm::Result<> begin(std::uint32_t tokens) override;
    [[nodiscard]] swarm::Result<std::vector<float>> read(
        std::span<const TokenId> tokens, Wanted wanted
    ) override;

 private:
    ModelReader(Stages stages, double exit_threshold, std::vector<RowCodec> codecs)
        : stages_(std::move(stages)), exit_threshold_(exit_threshold), codecs_(std::move(codecs)) {}

    /// What the next stage reads.
    [[nodiscard]] swarm::Result<> pass_on(std::size_t stage, std::vector<float>& values) const;

    Stages stages_;
    double exit_threshold_;
    std::vector<RowCodec> codecs_;
    CacheId cache_{0};  // of the text that is being read; 0: none yet
    std::uint32_t filled_ = 0;
};

}  // namespace stacking::stack
