#include "sim/run/checker.hpp"

#include "sim/run/checker_names.hpp"
#include "swarm/protocol/limits.hpp"

#include <algorithm>
#include <variant>

namespace sim {

namespace protocol = swarm::protocol;
using Phase = swarm::coordinator::StepMachine::Phase;

void Checker::violated(const char* rule, const std::string& what) {
    const auto at =
        std::chrono::duration_cast<std::chrono::microseconds>(world_.now().time_since_epoch());
    violations_.push_back(std::string(rule) + " at " + std::to_string(at.count()) + " us: " + what);
}

const swarm::coordinator::Coordinator* Checker::coordinator() const {
    return dynamic_cast<const swarm::coordinator::Coordinator*>(world_.role(coordinator_));
}

const stages::StageServer* Checker::server(PeerId peer) const {
    return dynamic_cast<const stages::StageServer*>(world_.role(peer));
}

void Checker::on_event(PeerId peer, const node::Event& event) {
    if (const auto* const received = std::get_if<node::Received>(&event)) {
        note_received(peer, *received);
    }
    check_pace();
    if (peer == coordinator_) {
        if (const auto* const role = coordinator()) {
            check_coordinator(*role, event);
        }
    } else if (const auto* const role = server(peer)) {
        check_server(peer, *role);
        check_bounds(peer, *role, event);
    }
}

void Checker::check_pace() {
    const swarm::Duration since = world_.now() - committed_at_;
    if (since > patience_) {
        violated("S1", "no step was committed for " + std::to_string(since.count()) + " ns");
        patience_ = swarm::Duration::max();
    }
}

void Checker::check_coordinator(
    const swarm::coordinator::Coordinator& role, const node::Event& event
) {
    const Phase phase = role.step().phase();
    const Version version = role.context().version;
    if (std::holds_alternative<node::Stored>(event)) {
        opened_ = world_.incarnation(coordinator_);
        // The step that was being decided, if this is its record; it is never more than one ahead.
        durable_steps_ =
            std::max(durable_steps_, version.step + (phase == Phase::Deciding ? 1 : 0));
    }
    if (const auto* const up = std::get_if<node::LinkUp>(&event)) {
        newest_[up->peer] = up->incarnation;
    }
    if (version < told_ && role.context().cinc > 0) {
        violated("I7", "the coordinator forgot a commit it had told");
    }
    const Step now{version, role.step().epoch()};
    if (now.first == newest_epoch_.first && now.second < newest_epoch_.second &&
        now.second.value != 0) {
        violated("P6", "the epoch went back");
    }
    newest_epoch_ = now;
    if (phase == Phase::Deciding && decided_ != now) {
        decided_ = now;
        check_decision(role);
    }
    const bool waits = phase == Phase::Recalling || phase == Phase::Reducing;
    if (waits && role.next_deadline() == swarm::kNever) {
        violated("I9", "the coordinator waits for answers without a deadline");
    }
}

// Checks R4, and so P5: the first event after the decision finds the state on which the decision
// was made.
void Checker::check_decision(const swarm::coordinator::Coordinator& role) {
    const swarm::run::Roster& roster = role.context().roster;
    const std::size_t least = role.context().config.min_holders;
    // A skip needs only the state before the step.
    const bool skips = role.step().decision().skips();
    const std::set<swarm::SlotId>& holders = holders_[decided_];
    for (std::uint32_t stage = 0; stage < role.context().config.stages; ++stage) {
        const std::vector<swarm::SlotId> members = roster.members({stage});
        if (members.empty()) {
            violated("P5", "a step was decided without a holder in stage " + std::to_string(stage));
        }
        if (!skips && members.size() < least) {
            violated("P5", "a step was decided by fewer than min_holders");
        }
        for (const swarm::SlotId slot : members) {
            if (!skips && !holders.contains(slot)) {
                const PeerId peer = roster.find(slot)->peer;
                violated("P5", "a step was decided without the result of " + name_of(peer));
            }
        }
    }
}

void Checker::check_server(PeerId peer, const stages::StageServer& server) {
    const stages::ServerContext& context = server.context();
    if (!context.version) {
        return;
    }
    if (context.version->step > durable_steps_) {
        violated("P3", name_of(peer) + " is ahead of the durable log");
    }
    const auto [known, is_first] =
        histories_.try_emplace({*context.version, context.stage()}, context.state_hash);
    if (!is_first && known->second != context.state_hash) {
        violated("P4", name_of(peer) + " has another state than its replicas");
    }
}

void Checker::check_bounds(
    PeerId peer, const stages::StageServer& server, const node::Event& event
) {
    if (server.wave().queued() > protocol::kWorkQueueMax ||
        server.held_for_version() > protocol::kHeldForVersionMax) {
        violated("I8", name_of(peer) + " has more legs queued than its bound");
    }
    // A check now and then is enough: a process that waits without a deadline waits for ever. While
    // it dials the coordinator its host has the deadline; liars send replies then, too.
    const auto* const received = std::get_if<node::Received>(&event);
    const bool look = received && received->peer == coordinator_ &&
                      std::holds_alternative<protocol::HeartbeatReply>(received->message.body);
    if (look && server.context().slot && server.next_deadline() == swarm::kNever) {
        violated("I9", name_of(peer) + " waits without a deadline");
    }
}

void Checker::note_received(PeerId at, const node::Received& received) {
    const auto& body = received.message.body;
    if (const auto* const refused = std::get_if<protocol::Refused>(&body)) {
        // The refusal is final: the attempt may be offered to another slot.
        for (std::uint32_t stage = 0; stage < protocol::kStagesMax; ++stage) {
            const auto offer = offers_.find({refused->leg, swarm::StageIndex{stage}});
            if (offer != offers_.end() && offer->second.peer == received.peer) {
                offers_.erase(offer);
            }
        }
    } else if (at == coordinator_) {
        const auto* const reduced = std::get_if<protocol::Reduced>(&body);
        const auto* const boss = reduced ? coordinator() : nullptr;
        const auto* const info = boss ? boss->context().roster.find_peer(received.peer) : nullptr;
        if (info) {
            holders_[{reduced->version, reduced->epoch}].insert(info->slot);
        }
        const bool counts = !liars_.contains(received.peer);
        troubles_ += counts && std::holds_alternative<protocol::Fail>(body) ? 1 : 0;
    } else if (const auto* const recall = std::get_if<protocol::Recall>(&body)) {
        const auto* const role = received.peer == coordinator_ ? server(at) : nullptr;
        if (role && role->context().slot && role->context().version == recall->version) {
            note_promise(at, *recall);
        }
    }
}

void Checker::note_promise(PeerId peer, const protocol::Recall& recall) {
    std::vector<swarm::Epoch>& floors = floors_[{world_.incarnation(peer), recall.version}];
    for (const swarm::MicrobatchId id : recall.ids) {
        if (id.value >= floors.size()) {
            floors.resize(id.value + 1);
        }
        floors[id.value] = recall.epoch;
    }
}

void Checker::on_report(PeerId, const node::Report& report) {
    if (const auto* step = std::get_if<node::StepCommitted>(&report)) {
        const auto* const role = coordinator();
        told_ = std::max(told_, Version{role ? role->context().version.gen : 0, step->step + 1});
        longest_step_ = std::max<swarm::Duration>(longest_step_, world_.now() - committed_at_);
        committed_at_ = world_.now();
        if (step->counted != step->expected) {
            violated("I2", "a commit does not count every microbatch once");
        }
        forget_steps_before(step->step);
    } else if (const auto* skip = std::get_if<node::StepSkipped>(&report)) {
        const auto* const role = coordinator();
        told_ = std::max(told_, Version{role ? role->context().version.gen : 0, skip->step + 1});
        forget_steps_before(skip->step);
    } else if (const auto* change = std::get_if<node::PeerChanged>(&report)) {
        ++troubles_;
        const auto slot = slots_.find(change->peer);
        if (change->change == node::PeerChange::Fenced && slot != slots_.end()) {
            fenced_.insert(slot->second);
        }
        const auto* const role = coordinator();
        if (change->change == node::PeerChange::Moved && role &&
            role->context().roster.members(change->stage).empty()) {
            violated("I4", name_of(change->peer) + " moved, and its stage has nobody left");
        }
    } else if (const auto* checkpoint = std::get_if<node::CheckpointWritten>(&report)) {
        const Disk::Files& files = world_.disk(coordinator_).files();
        // The first file in a folder of that name.
        const auto first = files.lower_bound(checkpoint->where);
        if (first == files.end() || !first->first.starts_with(checkpoint->where)) {
            violated("I7", "a checkpoint was told that is not on disk");
        }
    }
}

void Checker::forget_steps_before(std::uint64_t step) {
    const auto forget = [step](auto& map, auto step_of) {
        using std::erase_if;  // Boost's tables have an overload of their own
        erase_if(map, [&](const auto& entry) { return step_of(entry.first) < step; });
    };
    const auto of_tuple = [](const auto& key) { return std::get<Version>(key).step; };
    const auto of_hop = [](const Hop& hop) { return hop.first.version.step; };
    forget(reduces_, of_tuple);
    forget(floors_, of_tuple);
    forget(accepted_, of_tuple);
    forget(visits_, of_hop);
    std::erase_if(touched_, [&](const AttemptKey& key) { return of_tuple(key) < step; });
    forget(offers_, of_hop);
    forget(holders_, [](const Step& key) { return key.first.step; });
    forget(recalls_, [](const Version& version) { return version.step; });
}

}  // namespace sim
