// The checker's rules about messages: each is looked at as it leaves, before it takes effect.
#include "sim/run/checker.hpp"
#include "sim/run/checker_names.hpp"
#include "swarm/run/training/batch_growth.hpp"
#include "swarm/run/training/trained_part.hpp"
#include "swarm/run/versions.hpp"

#include <algorithm>
#include <variant>

namespace sim {

namespace protocol = swarm::protocol;

namespace {

/// Epochs of a step that wave timers may cost although the peers are only slow.
constexpr std::uint64_t kFalseTimersMax = 64;

/// Microbatches of the step that begins with this version.
std::uint32_t microbatches_in(const swarm::run::RunConfig& config, std::uint64_t version) {
    return swarm::run::microbatches_of(config, swarm::run::steps_before(config, version));
}

bool trains_at(const swarm::coordinator::RunContext& context, swarm::StageIndex stage) {
    return swarm::run::training_stages(context.config, context.layouts).has(stage);
}

/// In mode sparse a replica's result holds its own ids, which check_reduce() counts; the result of
/// an exchange holds none.
bool counts_each_id(
    const protocol::Reduced& reduced, const swarm::run::RunConfig& config, bool trains
) {
    const bool sparse = config.mode == swarm::run::SyncMode::Sparse;
    const bool none = !trains || swarm::run::is_exchange(config, reduced.version.step);
    const std::uint32_t most = none ? 0 : microbatches_in(config, reduced.version.step);
    return reduced.counted_wrong == 0 &&
           (sparse ? reduced.counted_once <= most : reduced.counted_once == most);
}

}  // namespace

void Checker::on_send(PeerId from, const node::Send& send) {
    if (from == coordinator_) {
        check_sent_by_coordinator(send);
    } else if (server(from)) {
        check_sent_by_server(from, send);
    }
}

void Checker::check_sent_by_coordinator(const node::Send& send) {
    if (opened_ != world_.incarnation(coordinator_)) {
        violated("P8", "a message of a coordinator whose CINC is not durable");
    }
    const auto& body = send.message.body;
    if (const auto* const forward = std::get_if<protocol::Forward>(&body)) {
        check_offer(coordinator_, send.peer, *forward);
    } else if (const auto* const reduce = std::get_if<protocol::Reduce>(&body)) {
        check_reduce(send.peer, *reduce);
    } else if (const auto* const recall = std::get_if<protocol::Recall>(&body)) {
        check_recall(*recall);
    } else if (const auto* const commit = std::get_if<protocol::Commit>(&body)) {
        check_commit(*commit);
    } else if (const auto* const roster = std::get_if<protocol::Roster>(&body)) {
        note_roster(*roster);
    }
}

void Checker::check_sent_by_server(PeerId from, const node::Send& send) {
    const auto& body = send.message.body;
    if (const auto* const accepted = std::get_if<protocol::Accepted>(&body)) {
        check_accepted(from, send.peer, *accepted);
    } else if (const auto* const forward = std::get_if<protocol::Forward>(&body)) {
        check_offer(from, send.peer, *forward);
    } else if (const auto* const backward = std::get_if<protocol::Backward>(&body)) {
        check_offer(from, send.peer, *backward);
    } else if (const auto* const reduced = std::get_if<protocol::Reduced>(&body)) {
        const auto* const role = coordinator();
        const bool trains = role && trains_at(role->context(), server(from)->context().stage());
        if (role && !counts_each_id(*reduced, role->context().config, trains)) {
            violated("P2", "a result of " + name_of(from) + " does not count each id once");
        }
    }
}

// Checks I3 by the sender's own roster: a new offer goes to a member of the next stage, in good
// standing.
void Checker::check_offer(PeerId from, PeerId to, const protocol::Forward& forward) {
    const swarm::run::Roster& roster =
        from == coordinator_ ? coordinator()->context().roster : server(from)->context().roster;
    const swarm::StageIndex stage{static_cast<std::uint32_t>(forward.path.size())};
    const auto* const info = roster.find_peer(to);
    if (!info || info->stage != stage || info->standing == protocol::Standing::Observer) {
        return violated("I3", "work was offered to " + name_of(to) + ", no member of the stage");
    }
    if (from == coordinator_) {
        const auto newest = newest_.find(to);
        if (fenced_.contains(info->slot) ||
            (newest != newest_.end() && newest->second != info->incarnation)) {
            violated("I3", "work was offered to a fenced slot of " + name_of(to));
        }
    }
    const bool is_pickable =
        info->standing == protocol::Standing::Member || is_last_to_leave(roster, *info);
    check_successor(
        {{forward.version, forward.microbatch, forward.attempt, protocol::Leg::Forward}, stage},
        slot_of(to, info->incarnation, info->slot),
        is_pickable ? NewWork::Allowed : NewWork::Forbidden
    );
}

/// True for a draining slot whose stage has no other member that takes work: the step needs it.
bool Checker::is_last_to_leave(const swarm::run::Roster& roster, const protocol::SlotInfo& slot) {
    const auto is_member = [&](swarm::SlotId other) {
        return roster.find(other)->standing == protocol::Standing::Member;
    };
    return slot.standing == protocol::Standing::Draining &&
           std::ranges::none_of(roster.slots_of(slot.stage), is_member);
}

void Checker::check_offer(PeerId from, PeerId to, const protocol::Backward& backward) {
    const stages::ServerContext& context = server(from)->context();
    const auto* const info = context.roster.find_peer(to);
    const std::uint32_t own = context.stage().value;
    if (own == 0 || !info || backward.path.at(own - 1) != info->slot) {
        return violated("I3", "a backward left its path for " + name_of(to));
    }
    check_successor(
        {{backward.version, backward.microbatch, backward.attempt, protocol::Leg::Backward},
         {own - 1}},
        slot_of(to, info->incarnation, info->slot),
        NewWork::Allowed
    );
}

// An attempt has one successor per direction, unless the first successor has refused.
void Checker::check_successor(const Hop& hop, const Slot& to, NewWork new_work) {
    const bool to_liar = liars_.contains(to.peer);
    if (to_liar) {
        note_touched(hop.first);
    }
    const auto [offer, is_first] = offers_.try_emplace(hop, to);
    // An offer may have waited for the link of a liar, which hangs up and reconnects at will.
    if (is_first && !to_liar && new_work == NewWork::Forbidden) {
        violated("I3", "new work was offered to " + name_of(to.peer) + ", suspect or draining");
    }
    if (!is_first && offer->second != to && !is_touched(hop.first)) {
        violated(
            "P7",
            "an attempt was offered to " + name_of(offer->second.peer) + " and to " +
                name_of(to.peer)
        );
    }
}

void Checker::check_reduce(PeerId to, const protocol::Reduce& reduce) {
    const auto* const info = coordinator()->context().roster.find_peer(to);
    if (!info || info->standing == protocol::Standing::Observer) {
        return;
    }
    const auto key = std::tuple(reduce.version, reduce.epoch, info->stage);
    auto& [receivers, covered] = reduces_[key];
    if (!receivers.insert(to).second) {
        return;  // the REDUCE is repeated on a new link
    }
    // A copy that waited for its link may come after the fence that ended its reduce; that does no
    // harm.
    const swarm::coordinator::StepMachine& step = coordinator()->step();
    const bool is_open = step.phase() == swarm::coordinator::StepMachine::Phase::Reducing &&
                         step.epoch() == reduce.epoch &&
                         coordinator()->context().version == reduce.version;
    for (const swarm::SlotId slot : reduce.group) {
        if (is_open && fenced_.contains(slot)) {
            violated("P1", "a fenced slot is in the group of a reduce");
        }
    }
    for (const swarm::MicrobatchId id : reduce.ids) {
        if (!covered.insert(id).second) {
            violated("P1", "microbatch " + std::to_string(id.value) + " is in two lists");
        }
    }
    const auto& context = coordinator()->context();
    const bool exchange = swarm::run::is_exchange(context.config, reduce.version.step);
    const bool counts = !exchange && trains_at(context, info->stage);
    const std::size_t expected = counts ? microbatches_in(context.config, reduce.version.step) : 0;
    const bool alone = context.config.mode == swarm::run::SyncMode::Sparse && !exchange;
    const std::size_t lists =
        alone ? context.roster.members(info->stage).size() : reduce.group.size();
    if ((is_open || !alone) && receivers.size() == lists && covered.size() != expected) {
        violated("P1", "the lists of a stage do not cover the step");
    }
}

// Checks P9: the number of epochs is bounded by the number of troubles, so a step ends.
void Checker::check_recall(const protocol::Recall& recall) {
    const auto& context = coordinator()->context();
    const std::uint64_t members = context.roster.slots().size();
    const std::uint64_t window = std::max<std::uint64_t>(context.config.in_flight, 2 * members);
    const std::uint64_t bound = kFalseTimersMax + (world_.faults() + troubles_) * (1 + window);
    std::set<swarm::Epoch>& epochs = recalls_[recall.version];
    epochs.insert(recall.epoch);
    if (epochs.size() > bound) {
        violated("P9", "a step had more recalls than its faults explain");
    }
}

void Checker::check_commit(const protocol::Commit& commit) {
    if (commit.version.step + 1 > durable_steps_) {
        violated("P8", "a COMMIT left before its record was durable");
    }
    const auto [known, is_first] =
        commits_.try_emplace(commit.version, commit.epoch, commit.result_hashes);
    if (!is_first && known->second != std::pair(commit.epoch, commit.result_hashes)) {
        violated("P4", "two different commits of one version");
    }
}

void Checker::check_accepted(PeerId from, PeerId to, const protocol::Accepted& accepted) {
    const protocol::LegId& leg = accepted.leg;
    if (liars_.contains(to)) {
        note_touched(leg);
    }
    const swarm::Incarnation process = world_.incarnation(from);
    const auto floors = floors_.find({process, leg.version});
    if (floors != floors_.end() && leg.microbatch.value < floors->second.size() &&
        leg.attempt < floors->second[leg.microbatch.value]) {
        violated("P6", name_of(from) + " accepted an attempt that it had promised to refuse");
    }
    swarm::Attempt& newest = accepted_[{process, leg.version, leg.microbatch, leg.leg}];
    if (leg.attempt < newest) {
        violated("P6", name_of(from) + " accepted an older attempt after a newer one");
    }
    newest = std::max(newest, leg.attempt);
    const stages::ServerContext& context = server(from)->context();
    const Hop hop{leg, context.stage()};
    if (!context.slot) {
        // A link that is back repeats answers, also to a peer that has just lost its slot.
        const auto before = visits_.find(hop);
        if (before == visits_.end() || before->second.peer != from ||
            before->second.incarnation != process) {
            violated("P7", name_of(from) + " accepted work without a slot");
        }
        return;
    }
    const Slot here = slot_of(from, process, *context.slot);
    const auto [visit, is_first] = visits_.try_emplace(hop, here);
    if (!is_first && visit->second != here && !is_touched(leg)) {
        violated(
            "P7",
            "step " + std::to_string(leg.version.step) + " microbatch " +
                std::to_string(leg.microbatch.value) + " attempt " +
                std::to_string(leg.attempt.value) +
                (leg.leg == protocol::Leg::Forward ? " forward" : " backward") +
                " was accepted by " + name_of(visit->second.peer) + " and " + name_of(from)
        );
    }
}

// Notes slots as the members know them: a later fence of the peer makes them void.
void Checker::note_roster(const protocol::Roster& roster) {
    const std::pair sent{world_.incarnation(coordinator_), roster.number};
    if (roster_ == sent) {
        return;
    }
    roster_ = sent;
    slots_.clear();
    for (const protocol::SlotInfo& info : roster.slots) {
        slots_[info.peer] = info.slot;
        note_slot(info);
    }
}

void Checker::note_slot(const protocol::SlotInfo& info) {
    const auto [found, is_new] = return_numbers_.try_emplace(info.slot, 0);
    if (!is_new) {
        return;
    }
    const auto cinc = [](swarm::SlotId slot) { return slot.value >> 32; };
    const auto [before, is_first] =
        newest_slots_.try_emplace({info.peer, info.incarnation}, info.slot);
    if (!is_first) {
        const bool returns = cinc(before->second) == cinc(info.slot);
        found->second = return_numbers_.at(before->second) + (returns ? 1 : 0);
        before->second = info.slot;
    }
}

Checker::Slot Checker::slot_of(PeerId peer, swarm::Incarnation incarnation, swarm::SlotId slot)
    const {
    const auto found = return_numbers_.find(slot);
    return {peer, incarnation, found == return_numbers_.end() ? 0 : found->second};
}

}  // namespace sim
