// What the coordinator's sub-machines share: the run, its roster, its sessions, its version.
// Owned by the coordinator role; each part changes what is its business only.
#pragma once

#include "swarm/run/config.hpp"
#include "swarm/run/failure_detector.hpp"
#include "swarm/run/leg_codecs.hpp"
#include "swarm/run/memory_plan.hpp"
#include "swarm/run/partition.hpp"
#include "swarm/run/planted_bugs.hpp"
#include "swarm/run/roster.hpp"
#include "swarm/run/sessions.hpp"

#include <string>
#include <utility>
#include <vector>

namespace swarm::run {

struct RunContext {
    RunConfig config;
    std::vector<StageLayout> layouts;
    PlantedBugs bugs;
    std::uint32_t cinc = 0;
    ParameterVersion version;
    Roster roster;
    Sessions sessions;
    FailureDetector detector{FailureDetector::Timing{}};
    std::uint64_t roster_sent = 0;

    [[nodiscard]] StageIndex tail() const { return {config.stages - 1}; }

    /// What the peer says it lends is enough for a member of the stage.
    [[nodiscard]] bool fits(PeerId peer, StageIndex stage) const {
        const MemoryPlan plan(sessions.lent_memory(peer), config, layouts[stage.value]);
        return plan.check().has_value();
    }

    void send(SlotId slot, protocol::Body body, node::Turn turn) {
        if (const protocol::SlotInfo* info = roster.find(slot)) {
            sessions.send(info->peer, std::move(body), turn);
        }
    }

    /// To members and observers, ahead of whatever refers to the change.
    void send_roster_if_changed(node::Turn turn) {
        if (roster.number() == roster_sent) {
            return;
        }
        roster_sent = roster.number();
        const protocol::Roster message = roster.message();
        for (const protocol::SlotInfo& info : roster.slots()) {
            sessions.send(info.peer, message, turn);
        }
        for (const PeerId client : clients) {
            sessions.send(client, message, turn);
        }
    }

    void tell(
        node::PeerChange change, const protocol::SlotInfo& info, std::string reason, node::Turn turn
    ) {
        turn.out.add(node::Tell{node::PeerChanged{
            info.peer, info.stage, change, std::move(reason), roster.peers_per_stage()}});
    }

    std::vector<PeerId> clients;  // generators: they want the roster only
    LegCodecs codecs{};           // of the current step
};

}  // namespace swarm::run
