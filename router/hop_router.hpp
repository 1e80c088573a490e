// Picks the next hop of each leg and keeps account of its offers: windows, backoff, rates,
// timeouts. The coordinator owns one (for stage 0), and so does every stage server (for the stage
// above it).
// Invariants: a peer is offered at most offers_per_peer legs at once; every offer ends by exactly
// one of refused(), passed(), timed_out(), abandoned() or the removal of its slot.
// After wake(now) the deadline lies after now (C3).
// Threading: single strand. Cost: O(log peers + offers at the peer) per call; set_candidates,
// abandon_all and observed_rates O(peers).
#pragma once

#include "router/policy.hpp"
#include "router/rate_meter.hpp"
#include "swarm/protocol/limits.hpp"
#include "swarm/protocol/message.hpp"

#include <boost/container/flat_set.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

namespace router {

using swarm::protocol::LegId;

class HopRouter {
 public:
    struct Options {
        std::size_t offers_per_peer = swarm::protocol::kOffersPerReceiverMax;
        Duration backoff_first = std::chrono::milliseconds(20);
        Duration backoff_max = std::chrono::seconds(2);
        /// After so many timeouts in a row only the probe below picks the peer.
        int timeouts_until_closed = 3;
        Duration probe_closed_after = std::chrono::seconds(5);
    };

    HopRouter(std::unique_ptr<Policy> policy, Options options);
    ~HopRouter();

    /// Sets the peers that may be picked from now on (members of the next stage, not suspect, not
    /// draining). Offers at a slot that is no longer listed are forgotten.
    void set_candidates(const std::vector<SlotId>& slots, TimePoint now);
    /// A candidate without a link is not picked. Links start down.
    void set_linked(SlotId slot, bool linked, TimePoint now);

    /// Picks a peer and charges it; the caller sends at once. Returns nothing when no peer is open:
    /// try again at next_deadline() or after the next call below. `except`: the peers that refused
    /// this leg for good.
    std::optional<SlotId> pick(
        const LegId& leg, const Request& request, TimePoint now, std::span<const SlotId> except = {}
    );

    /// With `now` the way to the peer is measured too: bytes over the time from send to ACCEPTED.
    void accepted(SlotId slot, const LegId& leg, std::optional<TimePoint> now = {});
    /// Reason Busy backs the peer off (exponentially); every other reason only ends the offer.
    void refused(
        SlotId slot, const LegId& leg, swarm::protocol::RefusedReason reason, TimePoint now
    );
    void passed(SlotId slot, const LegId& leg, TimePoint now);
    /// The sender gave up waiting: the elapsed time counts against the peer.
    void timed_out(SlotId slot, const LegId& leg, TimePoint now);
    /// The offer ended for a reason that says nothing about the peer (recall, new step).
    void abandoned(SlotId slot, const LegId& leg, TimePoint now);
    void abandon_all(TimePoint now);

    /// Returns when a backoff or a probe pause ends; kNever when nothing waits for time.
    [[nodiscard]] TimePoint next_deadline() const;
    /// Ends the backoffs that are over.
    void wake(TimePoint now);

    [[nodiscard]] std::size_t offers_at(SlotId slot) const;
    [[nodiscard]] std::vector<swarm::protocol::ObservedRate> observed_rates(TimePoint now) const;

 private:
    struct Offer {
        LegId leg;
        Request request;
        TimePoint sent;
        bool accepted = false;
    };

    struct Candidate {
        SlotId slot;
        std::vector<Offer> offers{};  // at most offers_per_peer
        RateMeter rate{};
        RecentBest best{};
        RateMeter way{};   // bytes instead of work units
        int timeouts = 0;  // in a row
        Duration backoff{};
        std::optional<TimePoint> paused_until{};
        bool linked = false;
        bool open = true;  // the state that the policy knows
    };

    Candidate* find(SlotId slot);
    static std::vector<Offer>::iterator find(Candidate& candidate, const LegId& leg);
    void add(SlotId slot, TimePoint now);
    void remove(SlotId slot);
    /// Takes the offer out; returns nothing when the offer is not there.
    std::optional<Offer> end(SlotId slot, const LegId& leg);
    [[nodiscard]] bool is_pickable(const Candidate& candidate) const;
    void refresh(Candidate& candidate, TimePoint now);
    /// Closes the open candidates among `slots` to picks; show() opens them again.
    void hide(std::span<const SlotId> slots, TimePoint now);
    void show(std::span<const SlotId> slots, TimePoint now);
    void set_open(std::span<const SlotId> slots, bool open, TimePoint now);
    void pause(Candidate& candidate, TimePoint until);
    void unpause(Candidate& candidate);
    void end_probe(Candidate& candidate, TimePoint now);
    void tell_rate(const Candidate& candidate, TimePoint now);

    std::unique_ptr<Policy> policy_;
    Options options_;
    /// In slot order; a vector of its own, so that a look-up reads little.
    std::vector<SlotId> slots_;
    std::vector<Candidate> candidates_;              // in the order of slots_
    boost::container::flat_set<SlotId> linked_;      // slots that are no candidates, too
    std::set<std::pair<TimePoint, SlotId>> pauses_;  // the paused_until of every candidate
};

}  // namespace router
