#include "stages/server/wave.hpp"

#include "swarm/protocol/limits.hpp"
#include "swarm/run/training/boundary_maps.hpp"

#include <algorithm>
#include <utility>

namespace stages {

using protocol::Leg;

Wave::Wave(ServerContext& context, PeerLinks& links)
    : context_(context),
      links_(links),
      router_(std::make_unique<router::HopRouter>(
          router::make_policy("expected_finish", 1), router::HopRouter::Options{}
      )) {}

void Wave::assigned() {
    const std::uint64_t seed = swarm::mix_bits(context_.config.seed ^ context_.self.words[0]);
    router_ = std::make_unique<router::HopRouter>(
        router::make_policy(context_.config.policy, seed), router::HopRouter::Options{}
    );
    speeds_ = {};
    candidates_.clear();
    forget_step();
}

void Wave::new_step(TimePoint now) {
    router_->abandon_all(now);
    forget_step();
}

void Wave::forget_step() {
    speeds_.forget_what_is_under_way();
    rows_.assign(context_.config.microbatches, Row{});
    legs_.clear();
    queue_.clear();
    placing_.clear();
    held_.clear();
    sealed_ = false;
    context_.wire_bytes = 0;
}

void Wave::refresh(TimePoint now) {
    std::vector<SlotId> slots;
    if (context_.worker && !context_.is_tail()) {
        slots = context_.roster.pickable({context_.stage().value + 1});
    }
    if (slots == candidates_) {
        return;  // link_changed() tells the router about links of known slots
    }
    candidates_ = slots;
    router_->set_candidates(slots, now);
    for (const SlotId slot : slots) {
        const PeerId peer = context_.roster.find(slot)->peer;
        router_->set_linked(slot, links_.is_linked(peer), now);
    }
}

void Wave::link_changed(PeerId peer, TimePoint now) {
    const auto* const info = context_.roster.find_peer(peer);
    if (info && info->stage.value == context_.stage().value + 1) {
        router_->set_linked(info->slot, links_.is_linked(peer), now);
    }
}

bool Wave::has_right_codecs(const swarm::run::LegCodecs& codecs) const {
    const std::size_t legs = 2 * (std::size_t{context_.config.stages} - 1);
    return codecs.size() == (swarm::run::chooses_codecs(context_.config) ? legs : 0);
}

std::optional<RefusedReason> Wave::check(PeerId from, const protocol::Forward& forward) const {
    if (forward.microbatch.value >= rows_.size()) {
        return RefusedReason::Invalid;
    }
    const std::uint32_t stage = context_.stage().value;
    const auto* const sender = context_.roster.find_peer(from);
    const bool from_coordinator = stage == 0 && from == context_.coordinator;
    const bool from_below = stage > 0 && sender && forward.path.size() == stage &&
                            forward.path.back() == sender->slot && sender->stage.value + 1 == stage;
    const bool sized = forward.tokens.size() == static_cast<std::size_t>(context_.config.batch) *
                                                    (context_.config.model.context + 1);
    const bool may_say = from_coordinator || from_below || context_.bugs.leg_of_anyone;
    if (!may_say || !sized || forward.mask.empty() ||
        !has_right_codecs(forward.codecs)) {
        return RefusedReason::Invalid;
    }
    const Row& row = rows_[forward.microbatch.value];
    const bool below_floor = forward.attempt < row.floor && !context_.bugs.floors_off;
    const bool seen = forward.attempt <= row.seen && !context_.bugs.dedup_off;
    if (below_floor || seen) {
        return RefusedReason::Stale;
    }
    const bool full = queue_.size() >= protocol::kWorkQueueMax && !context_.bugs.queue_unbounded;
    return full ? std::optional(RefusedReason::Busy) : std::nullopt;
}

std::optional<RefusedReason> Wave::check(PeerId from, const protocol::Backward& backward) const {
    const std::uint32_t stage = context_.stage().value;
    const auto* const sender = context_.roster.find_peer(from);
    const bool shaped =
        backward.microbatch.value < rows_.size() && sender &&
        backward.path.size() == context_.config.stages && stage + 1 < context_.config.stages &&
        context_.slot && backward.path[stage] == *context_.slot &&
        backward.path[stage + 1] == sender->slot && has_right_codecs(backward.codecs);
    if (!shaped) {
        return RefusedReason::Invalid;
    }
    const Row& row = rows_[backward.microbatch.value];
    const bool below_floor = backward.attempt < row.floor && !context_.bugs.floors_off;
    if (below_floor ||
        (backward.mask.has(context_.stage()) && held_.contains(backward.microbatch))) {
        return RefusedReason::Stale;
    }
    return row.graph == backward.attempt ? std::nullopt : std::optional(RefusedReason::NoGraph);
}

bool Wave::repeat_answers(PeerId from, const LegId& leg, node::Turn turn) {
    const auto found = legs_.find({leg.microbatch, leg.leg});
    if (found == legs_.end() || found->second->id != leg || found->second->from != from ||
        context_.bugs.dedup_off) {
        return false;
    }
    context_.answer(from, protocol::Accepted{leg}, turn);
    if (found->second->phase == LegPhase::Accepted || found->second->phase == LegPhase::Done) {
        context_.answer(from, protocol::Passed{leg}, turn);
    }
    return true;
}

void Wave::take(
    PeerId from, const protocol::Forward& forward, node::Payload input, node::Turn turn
) {
    const LegId leg{forward.version, forward.microbatch, forward.attempt, Leg::Forward};
    if (repeat_answers(from, leg, turn)) {
        return;
    }
    if (const auto reason = check(from, forward)) {
        context_.answer(from, protocol::Refused{leg, *reason}, turn);
        return;
    }
    rows_[forward.microbatch.value].seen = forward.attempt;
    LegState state{
        leg, forward.mask, forward.path, from, forward.codecs, forward.tokens, std::move(input)};
    accept(std::move(state), turn);
}

void Wave::take(
    PeerId from, const protocol::Backward& backward, node::Payload input, node::Turn turn
) {
    const LegId leg{backward.version, backward.microbatch, backward.attempt, Leg::Backward};
    if (repeat_answers(from, leg, turn)) {
        return;
    }
    if (const auto reason = check(from, backward)) {
        context_.answer(from, protocol::Refused{leg, *reason}, turn);
        return;
    }
    LegState state{leg, backward.mask, backward.path, from, backward.codecs, {}, std::move(input)};
    accept(std::move(state), turn);
}

void Wave::accept(LegState leg, node::Turn turn) {
    const LegKey key{leg.id.microbatch, leg.id.leg};
    leg.order = next_order_++;
    leg.taken_in = context_.slot;
    queue_.insert({leg.id.leg == Leg::Backward ? 0 : 1, {leg.order, key}});
    context_.answer(leg.from, protocol::Accepted{leg.id}, turn);
    placing_.erase(key);
    legs_[key] = std::make_unique<LegState>(std::move(leg));
}

LegId Wave::outgoing(const LegState& leg) const {
    LegId id = leg.id;
    id.leg = leg.id.leg == Leg::Forward && !context_.is_tail() ? Leg::Forward : Leg::Backward;
    return id;
}

Wave::LegState* Wave::find_by_offer(const LegId& outgoing) {
    const bool ours_is_forward = outgoing.leg == Leg::Forward || context_.is_tail();
    const auto found =
        legs_.find({outgoing.microbatch, ours_is_forward ? Leg::Forward : Leg::Backward});
    const bool same = found != legs_.end() && found->second->id.attempt == outgoing.attempt &&
                      found->second->id.version == outgoing.version;
    return same ? found->second.get() : nullptr;
}

bool Wave::is_last_leg(const LegState& leg) const {
    const bool final_leg = leg.id.leg == Leg::Backward || context_.is_tail();
    return final_leg && !leg.mask.has_below(context_.stage());
}

router::Request Wave::request() const {
    const auto& model = context_.config.model;
    const double tokens = static_cast<double>(context_.config.batch) * model.context;
    // The oracle's activation does not grow with its width.
    const bool oracle = model.kind == swarm::run::ModelKind::Oracle;
    const std::uint32_t width =
        oracle ? 1 : swarm::run::activation_width(context_.config, context_.stage());
    return {context_.next_offer_units, tokens * width * 4, {}};
}

void Wave::place_forwards(node::Turn turn) {
    const std::vector<LegKey> waiting(placing_.begin(), placing_.end());
    for (const LegKey& key : waiting) {
        LegState& leg = *legs_.at(key);
        // The planted bug dedup_off offers a leg twice, but the router asserts that it has one
        // offer.
        for (std::size_t i = 0; context_.bugs.dedup_off && i < candidates_.size(); ++i) {
            router_->abandoned(candidates_[i], outgoing(leg), turn.now);
        }
        const auto slot = router_->pick(outgoing(leg), request(), turn.now, leg.refused_by);
        if (slot) {
            placing_.erase(key);
            offer(leg, *slot, turn);
        } else if (leg.refused_by.empty()) {
            return;  // no peer takes a microbatch at this time
        } else if (is_refused_by_all(leg)) {
            placing_.erase(key);
            give_up_refused(leg, leg.refused_by.back(), turn);
        }
    }
}

bool Wave::is_refused_by_all(const LegState& leg) const {
    const std::vector<SlotId> slots = context_.roster.pickable({context_.stage().value + 1});
    return std::all_of(slots.begin(), slots.end(), [&](SlotId slot) {
        return std::find(leg.refused_by.begin(), leg.refused_by.end(), slot) !=
               leg.refused_by.end();
    });
}

void Wave::offer(LegState& leg, SlotId to, node::Turn turn) {
    leg.phase = LegPhase::Offered;
    leg.to = to;
    leg.offered_at = turn.now;
    leg.passed_there = false;
    leg.resent = false;
    leg.offered_in = speeds_.sent(outgoing(leg).leg, turn.now);
    send_offer(leg, turn);
}

void Wave::send_offer(const LegState& leg, node::Turn turn) {
    const auto* const info = context_.roster.find(leg.to);
    if (!info) {
        return;  // slot_lost() reports the attempt
    }
    const LegId id = outgoing(leg);
    std::vector<SlotId> path = leg.path;
    if (leg.id.leg == Leg::Forward) {
        path.push_back(*context_.slot);
    }
    if (id.leg == Leg::Forward) {
        protocol::Forward forward{
            id.version,
            id.microbatch,
            id.attempt,
            leg.mask,
            std::move(path),
            leg.tokens,
            leg.codecs};
        context_.send_leg(info->peer, std::move(forward), leg.output, turn);
    } else {
        protocol::Backward backward{
            id.version, id.microbatch, id.attempt, leg.mask, std::move(path), leg.codecs};
        context_.send_leg(info->peer, std::move(backward), leg.output, turn);
    }
}

void Wave::on(PeerId from, const protocol::Accepted& accepted, node::Turn turn) {
    LegState* const leg = find_by_offer(accepted.leg);
    const auto* const sender = context_.roster.find_peer(from);
    if (!leg || !sender || leg->to != sender->slot || leg->phase != LegPhase::Offered) {
        return;
    }
    leg->phase = LegPhase::Accepted;
    speeds_.arrived(accepted.leg.leg, leg->output.bytes().size(), leg->offered_in, turn.now);
    leg->output = {};
    if (accepted.leg.leg == Leg::Forward) {
        router_->accepted(sender->slot, accepted.leg, turn.now);
    }
    tell_passed(*leg, turn);
}

void Wave::on(PeerId from, const protocol::Refused& refused, node::Turn turn) {
    LegState* const leg = find_by_offer(refused.leg);
    const auto* const sender = context_.roster.find_peer(from);
    if (!leg || !sender || leg->to != sender->slot || leg->phase != LegPhase::Offered) {
        return;
    }
    speeds_.arrived(refused.leg.leg, leg->output.bytes().size(), leg->offered_in, turn.now);
    if (refused.leg.leg == Leg::Forward) {
        router_->refused(sender->slot, refused.leg, refused.reason, turn.now);
    }
    if (refused.leg.leg == Leg::Forward && !leg->resent) {
        // The offer will never be processed, so the same attempt may go to another replica, or to
        // this one later, but not to one that was admitted after the launch (Stale).
        if (refused.reason == RefusedReason::Stale) {
            leg->refused_by.push_back(sender->slot);
        }
        leg->phase = LegPhase::Placing;
        leg->to = {};
        placing_.insert({leg->id.microbatch, leg->id.leg});
        return;
    }
    // A backward has one place to go. A second copy of a resent forward may still be accepted.
    give_up_refused(*leg, sender->slot, turn);
}

void Wave::give_up_refused(LegState& leg, SlotId by, node::Turn turn) {
    leg.phase = LegPhase::Done;
    leg.output = {};
    fail(by, protocol::FailReason::Refused, {{leg.id.microbatch, leg.id.attempt, false}}, turn);
}

void Wave::on(PeerId from, const protocol::Passed& passed, node::Turn turn) {
    LegState* const leg = find_by_offer(passed.leg);
    const auto* const sender = context_.roster.find_peer(from);
    if (!leg || !sender || leg->to != sender->slot || leg->passed_there) {
        return;
    }
    if (leg->phase == LegPhase::Offered) {  // ACCEPTED was lost with a link
        leg->output = {};
        tell_passed(*leg, turn);
    }
    leg->phase = LegPhase::Done;
    leg->passed_there = true;
    if (passed.leg.leg == Leg::Forward) {
        router_->passed(sender->slot, passed.leg, turn.now);
    }
}

void Wave::tell_passed(const LegState& leg, node::Turn turn) {
    context_.answer(leg.from, protocol::Passed{leg.id}, turn);
}

void Wave::finish_leg(LegState& leg, node::Turn turn) {
    // The last leg has nothing to pass on. Its PASSED opens the coordinator's window.
    leg.phase = LegPhase::Done;
    leg.output = {};
    tell_passed(leg, turn);
    if (leg.from != context_.coordinator) {
        context_.tell_coordinator(protocol::Passed{leg.id}, turn);
    }
}

std::optional<PeerId> Wave::any_next_hop(std::uint64_t number) const {
    std::vector<PeerId> linked;
    for (const SlotId slot : context_.roster.pickable({context_.stage().value + 1})) {
        const PeerId peer = context_.roster.find(slot)->peer;
        if (links_.is_linked(peer)) {
            linked.push_back(peer);
        }
    }
    return linked.empty() ? std::nullopt : std::optional(linked[number % linked.size()]);
}

}  // namespace stages
