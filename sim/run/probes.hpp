// Counts situations that a set of seeds must reach, or it proves less than it seems to. They are
// counted from outside, by the messages and by the state that roles show to checkers. A test that
// runs many seeds adds the counts up and fails on a probe that was never hit.
// Threading: single strand. Cost: O(1) per event and message, O(slots) per new roster.
// Source of the idea: FoundationDB's code probes.
#pragma once

#include "sim/world.hpp"
#include "stages/server/stage_server.hpp"
#include "swarm/coordinator/coordinator.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace sim {

enum class Probe : std::uint8_t {
    RecallWhileRunning,
    RecallWhileReducing,
    RecallOfASecondCoordinator,
    JoinerEnters,
    CoordinatorRestartsWhileRunning,
    CoordinatorRestartsWhileReducing,
    CoordinatorRestartsWhileDeciding,
    ReplayForSomeStagesOnly,
    LateLegIsRefused,
    UnadmittedSlotRefuses,
    OfferIsRepeated,
    LegWaitsForACommit,
    CommitIsRepeated,
    StateIsFetched,
    HopReportsALoss,
    MemberIsStuck,
    PeerIsSuspect,
    PeerIsFencedWhileReducing,
};

inline constexpr std::size_t kProbes = 18;

class ProbeCounts {
 public:
    void hit(Probe probe) { ++counts_[static_cast<std::size_t>(probe)]; }

    [[nodiscard]] std::uint64_t hits(Probe probe) const {
        return counts_[static_cast<std::size_t>(probe)];
    }

    void add(const ProbeCounts& other);
    /// Names the probes that were never hit, as in "recall while reducing, joiner enters"; empty
    /// when all were hit.
    [[nodiscard]] std::string missing() const;
    /// Returns one line per probe.
    [[nodiscard]] std::string text() const;

 private:
    std::array<std::uint64_t, kProbes> counts_{};
};

/// Watches one run; called for every event and message, before it takes effect.
class RunProbes {
 public:
    RunProbes(const World& world, PeerId coordinator) : world_(world), coordinator_(coordinator) {}

    void on_event(PeerId peer, const node::Event& event);
    void on_send(PeerId from, const node::Send& send);

    [[nodiscard]] const ProbeCounts& counts() const { return counts_; }

 private:
    using Phase = swarm::coordinator::StepMachine::Phase;

    void look_at_coordinator(swarm::Incarnation life);
    void look_at_roster(const swarm::protocol::Roster& roster);
    void look_at_forward(const swarm::protocol::Forward& forward, PeerId to);
    void look_at_recall(const swarm::protocol::Recall& recall);
    [[nodiscard]] const swarm::coordinator::Coordinator* coordinator() const;

    const World& world_;
    PeerId coordinator_;
    ProbeCounts counts_;
    std::optional<swarm::Incarnation> life_;  // the coordinator's life
    Phase phase_ = Phase::Waiting;            // its phase before the event that goes on
    std::uint64_t roster_ = 0;
    std::map<swarm::SlotId, swarm::protocol::Standing> slots_;
    swarm::Epoch recall_;
    std::set<std::pair<PeerId, swarm::ParameterVersion>> commits_;
    std::set<std::tuple<swarm::ParameterVersion, swarm::MicrobatchId, swarm::Attempt, PeerId>>
        offers_;
};

}  // namespace sim
