// Held-out texts: what an evaluation of a run asks its peers, and what becomes of their answers.
// Invariants: microbatch i of a text is a function of the text, the shape of a microbatch and i, so
// all evaluations and all processes read the same tokens. Losses are added in the order of the
// microbatches, so their mean has the same bits whoever computed them.
// Threading: values. Units: nats per token. Memory: 4 bytes per token of the microbatches.
// Cost: O(microbatches) per evaluation.
#pragma once

#include "swarm/run/config.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace swarm::run {

struct HeldOutText {
    std::string name;
    std::vector<std::uint32_t> tokens;  // whole microbatches of B x (T + 1), one after the other
    std::uint64_t bytes = 0;            // size of the text behind the targets; 0: not known
};

struct HeldOutLosses {
    std::uint64_t step = 0;       // steps that have made the weights
    double loss = 0;              // mean over the texts
    std::vector<double> by_text;  // mean over the microbatches of each text
    bool is_best = false;         // less than at all evaluations before

    friend bool operator==(const HeldOutLosses&, const HeldOutLosses&) = default;
};

/// Numbers of the windows that a text of so many windows gives: eval.batches microbatches of them,
/// or as many as the text has, spread evenly over it. REQUIRES: windows > 0.
std::vector<std::uint64_t> held_out_windows(const RunConfig& config, std::uint64_t windows);

/// The tokens of such windows of a text. The last windows may overlap where the text is shorter
/// than a microbatch. REQUIRES: more tokens than the context.
std::vector<std::uint32_t> held_out_tokens(
    const RunConfig& config, std::span<const std::uint32_t> text
);

/// The microbatches of all texts, text after text.
std::vector<std::span<const std::uint32_t>> held_out_microbatches(
    const RunConfig& config, std::span<const HeldOutText> texts
);

/// `losses`: those of held_out_microbatches(), in its order.
HeldOutLosses mean_held_out(
    const RunConfig& config,
    std::span<const HeldOutText> texts,
    std::span<const double> losses,
    std::uint64_t step
);

/// The end of a sentence about eval.texts, where the run cannot have some.
std::optional<std::string> held_out_fault(const RunConfig& config);

/// Whether an evaluation follows the step with which `step` steps are made.
bool is_evaluation_due(const RunConfig& config, std::uint64_t step);

/// Remembers the least loss, and says when the patience of the run is at its end.
class HeldOutWatch {
 public:
    /// `best`: the least loss of earlier processes of the run.
    explicit HeldOutWatch(std::uint32_t patience, std::optional<double> best = std::nullopt)
        : patience_(patience), best_(best) {}

    /// Fills in is_best.
    void note(HeldOutLosses& losses);

    /// True when as many evaluations in a row as eval.patience says had no better loss.
    [[nodiscard]] bool is_over() const { return patience_ > 0 && worse_ >= patience_; }

    /// "no better held-out loss than 3.2140 in 5 evaluations".
    [[nodiscard]] std::string reason() const;

 private:
    std::uint32_t patience_;
    std::optional<double> best_;
    std::uint32_t worse_ = 0;  // evaluations since the best one
};

}  // namespace swarm::run
