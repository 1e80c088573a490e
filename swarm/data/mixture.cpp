#include "swarm/data/mixture.hpp"

#include "swarm/base/check.hpp"
#include "swarm/data/limits.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace swarm::data {
namespace {

Error mixture_error(const char* what) {
    return {ErrorCode::Usage, Reaction::Reject, what};
}

/// Returns the slots of a period of this length; none where it does not have the shares exactly.
std::vector<std::uint32_t> exact_slots(const std::vector<double>& shares, std::uint32_t period) {
    constexpr double kRounding = 1e-9;
    std::vector<std::uint32_t> slots;
    std::uint64_t sum = 0;
    for (const double share : shares) {
        const double wanted = share * period;
        const double whole = std::round(wanted);
        if (std::abs(wanted - whole) > kRounding * period || (whole == 0 && share > 0)) {
            return {};
        }
        slots.push_back(static_cast<std::uint32_t>(whole));
        sum += slots.back();
    }
    return sum == period ? slots : std::vector<std::uint32_t>();
}

/// Rounds the shares to the longest period: down, and the largest remainders up.
std::vector<std::uint32_t> rounded_slots(const std::vector<double>& shares) {
    std::vector<std::uint32_t> slots;
    std::vector<std::pair<double, std::size_t>> remainders;
    for (std::size_t i = 0; i < shares.size(); ++i) {
        const double wanted = shares[i] * kMixtureSlotsMax;
        const auto least = shares[i] > 0 ? 1U : 0U;
        slots.push_back(std::max(static_cast<std::uint32_t>(wanted), least));
        remainders.emplace_back(slots.back() - wanted, i);
    }
    // The source that has most too little comes first; equals go by their order.
    std::sort(remainders.begin(), remainders.end());
    std::uint64_t sum = std::accumulate(slots.begin(), slots.end(), std::uint64_t{0});
    for (std::size_t i = 0; sum < kMixtureSlotsMax; i = (i + 1) % remainders.size()) {
        if (shares[remainders[i].second] > 0) {
            ++slots[remainders[i].second];
            ++sum;
        }
    }
    while (sum > kMixtureSlotsMax) {
        --*std::max_element(slots.begin(), slots.end());
        --sum;
    }
    return slots;
}

std::vector<std::uint32_t> slots_of(std::span<const double> weights, double sum) {
    std::vector<double> shares;
    for (const double weight : weights) {
        shares.push_back(weight / sum);
    }
    for (std::uint32_t period = 1; period < kMixtureSlotsMax; ++period) {
        auto slots = exact_slots(shares, period);
        if (!slots.empty()) {
            return slots;
        }
    }
    return rounded_slots(shares);
}

}  // namespace

Result<Mixture> Mixture::make(std::span<const double> weights) {
    if (weights.empty() || weights.size() > kSourcesMax) {
        return mixture_error("a mixture has 1 to 64 weights");
    }
    double sum = 0;
    for (const double weight : weights) {
        if (!(weight >= 0 && weight <= kWeightMax)) {
            return mixture_error("a weight is a number from 0 to 1e9");
        }
        sum += weight;
    }
    if (!(sum > 0)) {
        return mixture_error("the weights sum to 0");
    }
    Mixture mixture;
    mixture.shares_ = slots_of(weights, sum);
    const std::uint64_t period =
        std::accumulate(mixture.shares_.begin(), mixture.shares_.end(), std::uint64_t{0});
    std::vector<std::uint32_t> counts(weights.size(), 0);
    // The k-th slot of a source with s of p slots may come from slot floor(k p / s) on, and must
    // come before slot ceil((k + 1) p / s). Whoever must come first gets the slot: with whole
    // numbers and one slot at a time this meets all deadlines.
    for (std::uint64_t slot = 0; slot < period; ++slot) {
        std::size_t chosen = weights.size();
        std::uint64_t earliest = 0;
        for (std::size_t i = 0; i < weights.size(); ++i) {
            const std::uint64_t share = mixture.shares_[i];
            if (share == 0 || counts[i] == share || counts[i] * period / share > slot) {
                continue;
            }
            const std::uint64_t deadline = ((counts[i] + 1) * period + share - 1) / share;
            if (chosen == weights.size() || deadline < earliest) {
                chosen = i;
                earliest = deadline;
            }
        }
        SWARM_ASSERT(chosen < weights.size() && earliest > slot);
        mixture.slots_.push_back({static_cast<std::uint32_t>(chosen), counts[chosen]++});
    }
    return mixture;
}

Mixture::Turn Mixture::turn(std::uint64_t sample) const {
    const Slot& slot = slots_[sample % slots_.size()];
    return {slot.source, sample / slots_.size() * shares_[slot.source] + slot.count};
}

}  // namespace swarm::data
