// Tells whether a peer that is fenced was healthy, that is, fenced by mistake.
// A peer is healthy at the moment of the fence if its process is the one that was admitted to the
// slot (it has neither crashed nor restarted), and it is not frozen and was not in the last 6 s: so
// long a silence is enough for the coordinator.
// No other reason excuses a fence: neither slowness, nor stalled jobs, nor a link that the network
// has lost (it can be dialed again within the 2 s that the protocol allows), nor another peer's
// fault.
// Threading: single strand; it watches the run as long as it lives.
#pragma once

#include "sim/run/run_world.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace sim {

class HealthWatch {
 public:
    explicit HealthWatch(RunWorld& run) : run_(run) {
        run_.observe_reports([this](PeerId, const node::Report& report) {
            if (const auto* const change = std::get_if<node::PeerChanged>(&report)) {
                note(*change);
            }
        });
    }

    HealthWatch(const HealthWatch&) = delete;
    HealthWatch& operator=(const HealthWatch&) = delete;

    ~HealthWatch() { run_.observe_reports({}); }

    /// The world forgets that it thawed a peer: the caller that does it says so here.
    void note_thaw(PeerId id) { thawed_at_[id] = run_.world().now(); }

    /// The number of steps committed so far in which a healthy peer was fenced.
    [[nodiscard]] std::size_t steps_with_a_mistake() const {
        const std::size_t committed = run_.steps().size();
        return static_cast<std::size_t>(std::count_if(steps_.begin(), steps_.end(), [&](auto step) {
            return step < committed;
        }));
    }

    /// One line per fence of a healthy peer.
    [[nodiscard]] const std::vector<std::string>& mistakes() const { return mistakes_; }

 private:
    static constexpr swarm::Duration kSilence = std::chrono::seconds(6);

    void note(const node::PeerChanged& change) {
        if (change.change == node::PeerChange::Admitted) {
            const auto& roster = run_.coordinator_role()->context().roster;
            if (const auto* const info = roster.find_peer(change.peer)) {
                admitted_[change.peer] = info->incarnation;
            }
        } else if (change.change == node::PeerChange::Fenced && is_healthy(change.peer)) {
            const std::size_t step = run_.steps().size();
            steps_.insert(step);
            mistakes_.push_back(
                "step " + std::to_string(step) + ": healthy peer " +
                std::to_string(change.peer.words[0]) + " fenced: " + change.reason
            );
        }
    }

    [[nodiscard]] bool is_healthy(PeerId id) const {
        const World& world = run_.world();
        const auto admitted = admitted_.find(id);
        const bool lives = world.is_running(id) && admitted != admitted_.end() &&
                           admitted->second == world.incarnation(id);
        const auto thawed = thawed_at_.find(id);
        const bool was_frozen =
            thawed != thawed_at_.end() && world.now() < thawed->second + kSilence;
        return lives && !world.is_frozen(id) && !was_frozen;
    }

    RunWorld& run_;
    std::map<PeerId, swarm::Incarnation> admitted_;
    std::map<PeerId, swarm::TimePoint> thawed_at_;
    std::set<std::size_t> steps_;
    std::vector<std::string> mistakes_;
};

}  // namespace sim
