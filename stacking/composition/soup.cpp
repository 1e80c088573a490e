#include "stacking/composition/soup.hpp"

#include "swarm/base/check.hpp"
#include "swarm/base/try.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

namespace stacking::composition {

using swarm::ErrorCode;
using swarm::Result;

std::vector<double> loss_weights(std::span<const double> losses) {
    SWARM_ASSERT(!losses.empty());
    const double least = *std::ranges::min_element(losses);
    std::vector<double> weights;
    for (const double loss : losses) {
        weights.push_back(std::exp(least - loss));
    }
    const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
    for (double& weight : weights) {
        weight /= sum;
    }
    return weights;
}

Result<Soup> greedy_soup(
    std::span<const double> alone,
    const LossTogether& together,
    const std::function<void(const SoupStep&)>& tell
) {
    SWARM_ASSERT(!alone.empty());
    std::vector<std::size_t> order(alone.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, {}, [&](std::size_t model) { return alone[model]; });
    Soup soup{{order.front()}, alone[order.front()]};
    tell({order.front(), soup.loss, soup.loss, true});
    for (const std::size_t model : std::span(order).subspan(1)) {
        std::vector<std::size_t> candidate = soup.models;
        candidate.push_back(model);
        const Result<double> measured = together(candidate);
        if (!measured && measured.error().code != ErrorCode::NotFinite) {
            return measured.error();
        }
        const double loss = measured ? *measured : std::numeric_limits<double>::infinity();
        const bool kept = loss <= soup.loss;
        if (kept) {
            soup = {std::move(candidate), loss};
        }
        tell({model, alone[model], loss, kept});
    }
    return soup;
}

}  // namespace stacking::composition
