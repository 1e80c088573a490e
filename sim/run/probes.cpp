#include "sim/run/probes.hpp"

#include <string_view>
#include <variant>

namespace sim {

namespace protocol = swarm::protocol;

namespace {

constexpr std::array<std::string_view, kProbes> kProbeNames{
    "recall while running",
    "recall while reducing",
    "recall of a second coordinator",
    "joiner enters",
    "coordinator restarts while running",
    "coordinator restarts while reducing",
    "coordinator restarts while deciding",
    "replay for some stages only",
    "late leg is refused",
    "unadmitted slot refuses",
    "offer is repeated",
    "leg waits for a commit",
    "commit is repeated",
    "state is fetched",
    "hop reports a loss",
    "member is stuck",
    "peer is suspect",
    "peer is fenced while reducing",
};

std::uint64_t cinc_of(swarm::Epoch epoch) {
    return epoch.value >> 32;
}

}  // namespace

void ProbeCounts::add(const ProbeCounts& other) {
    for (std::size_t i = 0; i < kProbes; ++i) {
        counts_[i] += other.counts_[i];
    }
}

std::string ProbeCounts::missing() const {
    std::string names;
    for (std::size_t i = 0; i < kProbes; ++i) {
        if (counts_[i] == 0) {
            names += (names.empty() ? "" : ", ") + std::string(kProbeNames[i]);
        }
    }
    return names;
}

std::string ProbeCounts::text() const {
    std::string lines;
    for (std::size_t i = 0; i < kProbes; ++i) {
        lines += std::string(kProbeNames[i]) + ": " + std::to_string(counts_[i]) + '\n';
    }
    return lines;
}

const swarm::coordinator::Coordinator* RunProbes::coordinator() const {
    return dynamic_cast<const swarm::coordinator::Coordinator*>(world_.role(coordinator_));
}

void RunProbes::on_event(PeerId peer, const node::Event&) {
    look_at_coordinator(world_.incarnation(coordinator_));
    const auto* const server = dynamic_cast<stages::StageServer*>(world_.role(peer));
    if (server && server->held_for_version() > 0) {
        counts_.hit(Probe::LegWaitsForACommit);
    }
}

void RunProbes::look_at_coordinator(swarm::Incarnation life) {
    if (life_ && *life_ != life) {
        switch (phase_) {
            case Phase::Running:
                counts_.hit(Probe::CoordinatorRestartsWhileRunning);
                break;
            case Phase::Reducing:
                counts_.hit(Probe::CoordinatorRestartsWhileReducing);
                break;
            case Phase::Deciding:
                counts_.hit(Probe::CoordinatorRestartsWhileDeciding);
                break;
            default:
                break;
        }
    }
    life_ = life;
    if (const auto* const role = coordinator()) {
        phase_ = role->step().phase();
    }
}

void RunProbes::on_send(PeerId, const node::Send& send) {
    const auto& body = send.message.body;
    if (const auto* const forward = std::get_if<protocol::Forward>(&body)) {
        look_at_forward(*forward, send.peer);
    } else if (const auto* const recall = std::get_if<protocol::Recall>(&body)) {
        look_at_recall(*recall);
    } else if (const auto* const roster = std::get_if<protocol::Roster>(&body)) {
        look_at_roster(*roster);
    } else if (const auto* const commit = std::get_if<protocol::Commit>(&body)) {
        if (!commits_.insert({send.peer, commit->version}).second) {
            counts_.hit(Probe::CommitIsRepeated);
        }
    } else if (const auto* const refused = std::get_if<protocol::Refused>(&body)) {
        if (refused->reason == protocol::RefusedReason::Stale) {
            counts_.hit(Probe::LateLegIsRefused);
        } else if (refused->reason == protocol::RefusedReason::NotAdmitted) {
            counts_.hit(Probe::UnadmittedSlotRefuses);
        }
    } else if (std::holds_alternative<protocol::Fetch>(body)) {
        counts_.hit(Probe::StateIsFetched);
    } else if (std::holds_alternative<protocol::Fail>(body)) {
        counts_.hit(Probe::HopReportsALoss);
    } else if (std::holds_alternative<protocol::Stuck>(body)) {
        counts_.hit(Probe::MemberIsStuck);
    }
}

void RunProbes::look_at_forward(const protocol::Forward& forward, PeerId to) {
    const auto* const role = coordinator();
    for (std::uint32_t stage = 0; role && stage < role->context().config.stages; ++stage) {
        if (!forward.mask.has({stage})) {
            counts_.hit(Probe::ReplayForSomeStagesOnly);
            break;
        }
    }
    if (!offers_.insert({forward.version, forward.microbatch, forward.attempt, to}).second) {
        counts_.hit(Probe::OfferIsRepeated);
    }
}

void RunProbes::look_at_recall(const protocol::Recall& recall) {
    if (recall.epoch == recall_) {
        return;  // the same recall, to another member
    }
    // The phase is the one that the coordinator's last event before this one left.
    counts_.hit(phase_ == Phase::Reducing ? Probe::RecallWhileReducing : Probe::RecallWhileRunning);
    if (cinc_of(recall.epoch) > 1) {
        counts_.hit(Probe::RecallOfASecondCoordinator);
    }
    recall_ = recall.epoch;
}

void RunProbes::look_at_roster(const protocol::Roster& roster) {
    if (roster.number == roster_) {
        return;
    }
    const bool had_some = !slots_.empty();
    std::map<swarm::SlotId, protocol::Standing> slots;
    for (const protocol::SlotInfo& info : roster.slots) {
        slots[info.slot] = info.standing;
        const auto before = slots_.find(info.slot);
        const bool is_new = had_some && before == slots_.end();
        if (is_new && info.standing == protocol::Standing::Member) {
            counts_.hit(Probe::JoinerEnters);
        }
        const bool was_member =
            before != slots_.end() && before->second == protocol::Standing::Member;
        if (was_member && info.standing == protocol::Standing::Suspect) {
            counts_.hit(Probe::PeerIsSuspect);
        }
    }
    for (const auto& [slot, standing] : slots_) {
        const bool gone = standing != protocol::Standing::Observer && !slots.contains(slot);
        if (gone && phase_ == Phase::Reducing && roster.number > roster_) {
            counts_.hit(Probe::PeerIsFencedWhileReducing);
        }
    }
    slots_ = std::move(slots);
    roster_ = roster.number;
}

}  // namespace sim
