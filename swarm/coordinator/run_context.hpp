// The state that the coordinator's sub-machines share: configuration, layouts, version, roster and
// peer streams. The coordinator role owns it; each sub-machine changes only the fields of its task.
// Threading: single strand.
#pragma once

#include "swarm/coordinator/failure_detector.hpp"
#include "swarm/coordinator/peer_streams.hpp"
#include "swarm/run/config.hpp"
#include "swarm/run/leg_codecs.hpp"
#include "swarm/run/memory_plan.hpp"
#include "swarm/run/partition.hpp"
#include "swarm/run/planted_bugs.hpp"
#include "swarm/run/roster.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace swarm::coordinator {

struct RunContext {
    run::RunConfig config;
    std::vector<run::StageLayout> layouts;
    run::PlantedBugs bugs{};
    std::uint32_t cinc = 0;
    ParameterVersion version{};
    run::Roster roster;
    PeerStreams peer_streams{};
    FailureDetector detector{FailureDetector::Timing{}};
    std::uint64_t roster_sent = 0;

    [[nodiscard]] StageIndex tail() const { return {config.stages - 1}; }

    /// True when the memory that the peer lends is enough for a member of the stage.
    [[nodiscard]] bool fits(PeerId peer, StageIndex stage) const {
        const run::MemoryPlan plan(peer_streams.lent_memory(peer), config, layouts[stage.value]);
        return plan.check().has_value();
    }

    void send(SlotId slot, protocol::Body body, node::Turn turn) {
        if (const protocol::SlotInfo* info = roster.find(slot)) {
            peer_streams.send(info->peer, std::move(body), turn);
        }
    }

    /// Sends the roster to members, observers and clients, ahead of any message that refers to the
    /// change.
    void send_roster_if_changed(node::Turn turn) {
        if (roster.number() == roster_sent) {
            return;
        }
        roster_sent = roster.number();
        const protocol::Roster message = roster.message();
        for (const protocol::SlotInfo& info : roster.slots()) {
            peer_streams.send(info.peer, message, turn);
        }
        for (const PeerId client : clients) {
            peer_streams.post(client, message, {}, turn);
        }
    }

    [[nodiscard]] bool is_client(PeerId peer) const {
        return std::ranges::find(clients, peer) != clients.end();
    }

    void tell(
        node::PeerChange change, const protocol::SlotInfo& info, std::string reason, node::Turn turn
    ) {
        turn.out.add(node::Tell{node::PeerChanged{
            info.peer, info.stage, change, std::move(reason), roster.peers_per_stage()}});
    }

    /// Peers that only generate. They get the roster, and once: nothing is kept for a client that
    /// does not read, and a beat that names an older roster gets it again.
    std::vector<PeerId> clients{};
    run::LegCodecs codecs{};  // codecs of the current step
};

}  // namespace swarm::coordinator
