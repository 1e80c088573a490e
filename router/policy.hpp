// A policy is one rule that picks the next peer for a piece of work. It has one file and one test,
// and is registered in policy.cpp.
// Invariant: a policy picks only candidates that were added and neither removed nor closed; the
// sender observed all that a policy knows of a peer's speed, the peer never claimed it (I10).
// Threading: single strand. Cost of pick(): <= 200 ns at 1,000 candidates.
#pragma once

#include "swarm/base/ids.hpp"
#include "swarm/base/rng.hpp"
#include "swarm/base/units.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace router {

using swarm::Duration;
using swarm::SlotId;
using swarm::TimePoint;

/// The piece of work to be placed.
struct Request {
    double work_units = 0;
    double bytes = 0;
    /// Time that the step still needs, by the caller's estimate: a probe of a slow peer is only
    /// sent while its expected time fits into it. Zero: unknown, probe freely.
    Duration step_needs{};
};

class Policy {
 public:
    Policy() = default;
    Policy(const Policy&) = delete;
    Policy& operator=(const Policy&) = delete;
    virtual ~Policy() = default;

    virtual void add(SlotId slot, TimePoint now) = 0;
    virtual void remove(SlotId slot) = 0;
    /// Closes or opens a candidate. A closed one stays known but is not picked (window full,
    /// backoff, no link).
    virtual void set_open(SlotId slot, bool open, TimePoint now) = 0;

    /// Picks a peer and charges it. Returns nothing when no candidate is open.
    virtual std::optional<SlotId> pick(const Request& request, TimePoint now) = 0;
    /// Takes the charge back: the picked peer did not take the work.
    virtual void undo(SlotId slot, const Request& request, TimePoint now) = 0;
    /// Notes that the work is done at the peer's side, or given up.
    virtual void finished(SlotId slot, const Request& request, TimePoint now) = 0;
    /// Takes the rate meter's newest figure for the peer.
    virtual void rate_changed(SlotId slot, double units_per_s, TimePoint now) = 0;

    /// Takes the newest figure for the way to the peer; most policies do not look at it.
    virtual void bandwidth_changed(SlotId /*slot*/, double /*bytes_per_s*/, TimePoint /*now*/) {}

    /// While all candidates are busy, each is picked in proportion to this weight. It serves
    /// callers that compute with flows instead of picks (sim/fluid); most policies return the rate.
    [[nodiscard]] virtual double long_run_weight(double units_per_s) const { return units_per_s; }
};

/// Where no other rule decides, each sender has an order of its own: with one order for all, every
/// sender of a stage begins with the same few peers, and two hundred senders bury those in work.
std::uint64_t own_order(std::uint64_t seed, SlotId slot);

/// The name of a policy that is registered.
class PolicyName {
 public:
    /// The default is "expected_finish".
    PolicyName() = default;
    /// nullopt: no policy has this name.
    static std::optional<PolicyName> find(std::string_view name);

    [[nodiscard]] std::string_view text() const { return text_; }

    friend bool operator==(const PolicyName&, const PolicyName&) = default;

 private:
    explicit PolicyName(std::string_view registered) : text_(registered) {}

    std::string_view text_ = "expected_finish";  // text of the table in policy.cpp
};

/// Makes iwrr, expected_finish, shortest_queue or uniform; null for an unknown name. `seed`: the
/// sender's.
std::unique_ptr<Policy> make_policy(std::string_view name, std::uint64_t seed);
/// Makes the named policy; never null.
std::unique_ptr<Policy> make_policy(PolicyName name, std::uint64_t seed);
/// "expected_finish, iwrr, shortest_queue, uniform": for error texts and --help.
std::string policy_names();

}  // namespace router
