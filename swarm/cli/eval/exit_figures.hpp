// The loss on a text with early exits, for some thresholds at once: a token is scored by the first
// head whose best token is at least so probable, else by the head at the end.
// Invariant: what comes later reads caches in which every token went all the way, as those of
// sessions do (stacking/sessions), so one reading of the text serves all thresholds.
// Threading: one thread. Errors: none; a head whose logits are no numbers ends no path.
#pragma once

#include "stacking/session_compute.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace swarm::cli {

struct ExitFigures {
    double threshold = 0;                 // least probability of an exit
    std::vector<std::uint64_t> tokens{};  // tokens that were answered at each exit, and at the end
    double nats = 0;                      // sum of the cross-entropies of these answers

    [[nodiscard]] std::uint64_t all() const;
    /// Nats per token.
    [[nodiscard]] double loss() const;
    /// The share of the tokens that were answered at exit `place`; the end follows the last one.
    [[nodiscard]] double share(std::size_t place) const;
    /// The share of the tokens that were answered before the end.
    [[nodiscard]] double early() const;
};

/// Figures of no token. `exits`: their number without the end.
std::vector<ExitFigures> no_exits(std::span<const double> thresholds, std::size_t exits);

/// The answers of all heads about the tokens that follow R rows.
struct SaidAtExits {
    std::span<const std::vector<float>> logits;  // (R, V) by exit
    std::span<const double> at_end;              // log-probabilities of the targets at the end, (R)
    std::span<const stacking::TokenId> targets;  // (R)
};

/// Changes nothing where there are no figures. REQUIRES: as many exits as the figures have.
void add_exits(std::vector<ExitFigures>& figures, const SaidAtExits& said);

/// Adds figures of the same thresholds and exits.
void add_exits(std::vector<ExitFigures>& figures, const std::vector<ExitFigures>& more);

/// 0.01 to 0.99, the thresholds among which most_early() chooses.
std::vector<double> tried_thresholds();

/// The figures by which most tokens are answered early among those whose loss is at most
/// (1 + cost) times the loss without exits; of equals the first. None where all cost more.
std::optional<ExitFigures> most_early(
    std::span<const ExitFigures> tried, double loss_at_end, double cost
);

}  // namespace swarm::cli
