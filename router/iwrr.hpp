// Policy "iwrr": SWARM's interleaved weighted round-robin. Every peer has a priority, the seconds
// of work charged to it; the peer with the lowest priority is picked and charged at once with work
// / rate, so in the long run a peer's share is proportional to its rate.
// Invariant: an open peer never starts below the lowest priority in use: a peer that is new, or
// comes back, does not get in one burst the work that it missed. A peer that was never measured is
// charged at the mean rate of the measured ones; picks before the first measurement are charged at
// that rate. The unit in which work is counted therefore makes no difference.
// Threading: single strand. Cost: O(log peers) per call.
// Source: SWARM (arXiv 2301.11913) section 3.2, Alg. 1; start rule as in start-time fair queuing.
#pragma once

#include "router/mean_rate.hpp"
#include "router/policy.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace router {

class Iwrr final : public Policy {
 public:
    explicit Iwrr(std::uint64_t seed) : seed_(seed) {}

    void add(SlotId slot, TimePoint now) override;
    void remove(SlotId slot) override;
    void set_open(SlotId slot, bool open, TimePoint now) override;
    std::optional<SlotId> pick(const Request& request, TimePoint now) override;
    /// The charge is taken back exactly while the peer's rate has not changed since the pick.
    void undo(SlotId slot, const Request& request, TimePoint now) override;

    void finished(SlotId /*slot*/, const Request& /*request*/, TimePoint /*now*/) override {}

    void rate_changed(SlotId slot, double units_per_s, TimePoint now) override;

 private:
    static constexpr std::size_t kClosed = static_cast<std::size_t>(-1);

    struct Peer {
        SlotId slot;
        std::uint64_t order = 0;   // decides among equals
        double priority = 0;       // seconds of work charged so far
        double units_per_s = 0;    // 0: never measured
        std::size_t at = kClosed;  // place in heap_
    };

    /// A copy of the priority, so that comparing does not touch the peers.
    struct Entry {
        double priority;
        Peer* peer;
    };

    static bool before(const Entry& a, const Entry& b);
    [[nodiscard]] double seconds(const Peer& peer, const Request& request) const;
    void rescale(double factor);
    void push(Peer& peer);
    void take_out(Peer& peer);
    void place(std::size_t at, const Entry& entry);
    void sift_up(std::size_t at);
    void sift_down(std::size_t at);

    std::uint64_t seed_;
    std::map<SlotId, Peer> peers_;
    std::vector<Entry> heap_;  // binary heap, lowest priority first; open peers only
    MeanRate mean_;
    std::optional<double> guess_;  // the last known mean; empty: no rate was ever known
    double lowest_ = 0;            // priority at which the last pick was made
};

}  // namespace router
