// The choices behind an average of models, by their losses on held-out text, in nats per token.
//   loss_weights   softmax of the negative losses
//   greedy_soup    models in the order of their losses; each stays in the average if that does not
//                  raise the average's loss
// Invariant: the loss of a soup is at most that of its best ingredient alone, as measured.
// Threading: pure but for the given functions. Errors: those of `together`, but NotFinite: such an
// average has an infinite loss, and the model is left. Cost: one measurement per model but the
// first. Source: Wortsman et al., "Model soups", ICML 2022, recipe 1.
#pragma once

#include "swarm/base/result.hpp"

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

namespace stacking::composition {

/// REQUIRES: losses are finite, and there is one.
std::vector<double> loss_weights(std::span<const double> losses);

/// A model that was tried.
struct SoupStep {
    std::size_t model = 0;
    double alone = 0;     // its loss
    double together = 0;  // loss of the average with it
    bool kept = false;
};

struct Soup {
    std::vector<std::size_t> models{};  // in the order in which they were kept
    double loss = 0;
};

/// Measures the loss of the average of these models.
using LossTogether = std::function<swarm::Result<double>(std::span<const std::size_t> models)>;

/// `alone`: the loss of each model, finite; there is one. Equal losses keep the order of `alone`.
/// `tell` is called after each model.
swarm::Result<Soup> greedy_soup(
    std::span<const double> alone,
    const LossTogether& together,
    const std::function<void(const SoupStep&)>& tell
);

}  // namespace stacking::composition
