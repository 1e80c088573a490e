// Policy "uniform", the baseline of experiments, picks any open candidate with equal probability.
// Invariant, threading: the same as in policy.hpp. Cost: pick O(1), everything else O(peers) moves
// of 8 bytes.
#pragma once

#include "router/policy.hpp"

#include <set>
#include <vector>

namespace router {

class Uniform final : public Policy {
 public:
    explicit Uniform(std::uint64_t seed);

    void add(SlotId slot, TimePoint now) override;
    void remove(SlotId slot) override;
    void set_open(SlotId slot, bool open, TimePoint now) override;
    std::optional<SlotId> pick(const Request& request, TimePoint now) override;

    void undo(SlotId /*slot*/, const Request& /*request*/, TimePoint /*now*/) override {}

    void finished(SlotId /*slot*/, const Request& /*request*/, TimePoint /*now*/) override {}

    void rate_changed(SlotId /*slot*/, double /*units_per_s*/, TimePoint /*now*/) override {}

    [[nodiscard]] double long_run_weight(double /*units_per_s*/) const override { return 1; }

 private:
    swarm::Rng rng_;
    std::set<SlotId> known_;
    std::vector<SlotId> open_;  // sorted
};

}  // namespace router
