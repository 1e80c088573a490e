// How many held-out tokens may leave a model with exits early for a given cost.
// Invariant: a token leaves by the first exit whose best token has at least some probability, as in
// `swarm eval --exit`; the probability is the one of `swarm eval --exit-cost` for kEarlyCost.
// Threading: the main thread, whose pool helps. Errors: those of the model, the texts and the
// reader; Reject. Memory: the weights of the model; the scores of some rows, once per exit.
#pragma once

#include "swarm/base/result.hpp"
#include "swarm/cli/answer/generate_alone.hpp"
#include "swarm/cli/eval/exit_figures.hpp"
#include "swarm/cli/judge/judge_report.hpp"

#include <cstdint>
#include <filesystem>
#include <span>
#include <utility>
#include <vector>

namespace swarm::cli {

/// Positions of a window of a judge, or the context of the models where that is less.
inline constexpr std::uint32_t kJudgedWindow = 256;

class JudgedExits {
 public:
    /// `exits`: numbers of layers, as train.exits has them.
    static Result<JudgedExits> open(
        const std::filesystem::path& run, const std::vector<std::uint32_t>& exits
    );

    [[nodiscard]] Result<std::vector<stacking::TokenId>> read_tokens(
        const std::filesystem::path& text
    ) const;

    Result<> add(std::span<const stacking::TokenId> tokens);

    /// REQUIRES: a text was added.
    [[nodiscard]] EarlyExits sums() const;

 private:
    JudgedExits(AloneModel model, std::size_t exits);

    AloneModel model_;
    std::vector<ExitFigures> tried_;  // by tried_thresholds()
    double nats_at_end_ = 0;
};

}  // namespace swarm::cli
