// Which members make the best stack: the subset of an ensemble, the order of a chain.
// An ensemble's loss follows from the losses of its members alone, token by token, so all subsets
// of ten members cost little beside one reading of the text by each. A chain must be read anew for
// each order.
// Invariant: no more tries than the budget; equal losses go to the try that came first.
// Threading: pure functions. Errors: those of `loss_of`, which end the search.
// Cost: a subset costs tokens x members exponentials; 1,024 of them on 4,096 tokens some seconds.
#pragma once

#include "stacking/composition/losses.hpp"
#include "swarm/base/result.hpp"

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

namespace stacking::composition {

/// Members by their numbers; for a chain in the order in which a token meets them.
using Choice = std::vector<std::size_t>;

struct Try {
    Choice members;
    double loss = 0;  // nats per token
};

/// All tries that were made, the best first.
using Tries = std::vector<Try>;

/// Nats per token of the ensemble of these members. `member_nats`: of each member alone, on the
/// same windows. `priors`: one per member, positive.
double ensemble_loss(
    std::span<const WindowNats> member_nats, std::span<const double> priors, const Choice& chosen
);

/// Tries all subsets, if the budget allows; else the best member, and then, as long as one helps,
/// the member that helps most.
Tries search_subsets(
    std::size_t members, std::size_t budget, const std::function<double(const Choice&)>& loss_of
);

/// Tries all orders of all members, if the budget allows; else the best member, and then, as long
/// as one helps, the member and the place that help most.
swarm::Result<Tries> search_orders(
    std::size_t members,
    std::size_t budget,
    const std::function<swarm::Result<double>(const Choice&)>& loss_of
);

}  // namespace stacking::composition
