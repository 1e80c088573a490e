// Policy "shortest_queue" picks the open peer with the fewest pieces of our work under way; among
// equals, the one that was picked longest ago. It sees neither speed nor size: it is the classic
// rule that the other policies are compared with, optimal where all peers are equal.
// Invariant, threading: the same as in policy.hpp. Cost: O(log peers) per call.
// Source: "join the shortest queue", Winston, "Optimality of the shortest line discipline" (1977).
// Deviation: the queue is this sender's work under way there, since it cannot see the others' part.
#pragma once

#include "router/policy.hpp"

#include <compare>
#include <cstdint>
#include <map>
#include <set>

namespace router {

class ShortestQueue final : public Policy {
 public:
    explicit ShortestQueue(std::uint64_t seed) : seed_(seed) {}

    void add(SlotId slot, TimePoint now) override;
    void remove(SlotId slot) override;
    void set_open(SlotId slot, bool open, TimePoint now) override;
    std::optional<SlotId> pick(const Request& request, TimePoint now) override;

    void undo(SlotId slot, const Request& /*request*/, TimePoint /*now*/) override {
        one_less(slot);
    }

    void finished(SlotId slot, const Request& /*request*/, TimePoint /*now*/) override {
        one_less(slot);
    }

    void rate_changed(SlotId /*slot*/, double /*units_per_s*/, TimePoint /*now*/) override {}

 private:
    /// Keys compare in the order of preference.
    struct Key {
        std::uint64_t in_flight = 0;
        std::uint64_t picked_at = 0;  // value of picks_; 0: never
        std::uint64_t order = 0;      // decides among equals
        SlotId slot;

        friend auto operator<=>(const Key&, const Key&) = default;
    };

    struct Peer {
        Key key;
        bool open = true;
    };

    void one_less(SlotId slot);
    void replace(Peer& peer, const Key& key);

    std::uint64_t seed_;
    std::map<SlotId, Peer> peers_;
    std::set<Key> open_;
    std::uint64_t picks_ = 0;
};

}  // namespace router
