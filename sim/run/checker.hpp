// Watches a simulated run and says what the protocol forbids: on every event, from outside.
// Checked (step protocol section 8, design section 7): I1, I2 every commit counts every microbatch
// once; I3 the coordinator offers work to members of stage 0 only; I6 = P4 one history per (stage,
// version); I7 a commit that was told is never forgotten; P1 the lists of a REDUCE epoch cover each
// (stage, microbatch) once; P3 no peer is ahead of the durable log; P6 epochs only grow within a
// step, and a peer keeps the promise of its HELD; P2 every complete result counts each id once; P7
// an attempt is accepted by one slot per stage and direction.
// The strongest check is the caller's: losses and weights equal those of one process.
// Threading: single strand. Cost: O(log n) per event.
#pragma once

#include "sim/world.hpp"
#include "stages/stage_server.hpp"
#include "swarm/run/coordinator.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace sim {

class Checker {
 public:
    Checker(World& world, PeerId coordinator) : world_(world), coordinator_(coordinator) {}

    void on_event(PeerId peer, const node::Event& event);
    void on_send(PeerId from, const node::Send& send);
    void on_report(PeerId peer, const node::Report& report);

    /// The first one says what happened, when and to whom; empty in a sound run.
    [[nodiscard]] const std::vector<std::string>& violations() const { return violations_; }

 private:
    using Version = swarm::ParameterVersion;

    void violated(const char* rule, const std::string& what);
    void check_server(PeerId peer, const stages::StageServer& server);
    void check_reduce(PeerId to, const swarm::protocol::Reduce& reduce);
    void check_accepted(PeerId from, const swarm::protocol::Accepted& accepted);
    void note_promise(PeerId peer, const swarm::protocol::Recall& recall);
    [[nodiscard]] const swarm::run::Coordinator* coordinator() const;

    World& world_;
    PeerId coordinator_;
    std::uint64_t durable_steps_ = 0;
    std::uint64_t told_steps_ = 0;
    std::pair<Version, swarm::Epoch> newest_epoch_;
    std::map<std::pair<Version, swarm::StageIndex>, swarm::Digest> histories_;
    using Lists = std::pair<std::set<PeerId>, std::set<swarm::MicrobatchId>>;  // sent to, covering
    std::map<std::tuple<Version, swarm::Epoch, swarm::StageIndex>, Lists> reduces_;
    std::map<
        std::pair<swarm::protocol::LegId, swarm::StageIndex>,
        std::pair<PeerId, swarm::Incarnation>>
        visits_;
    std::map<std::tuple<swarm::Incarnation, Version, swarm::MicrobatchId>, swarm::Epoch> floors_;
    std::vector<std::string> violations_;
};

}  // namespace sim
