#include "swarm/coordinator/launcher.hpp"

#include "swarm/run/versions.hpp"

#include <utility>

namespace swarm::coordinator {
namespace {

router::Request request_for(const RunContext& context) {
    const auto& model = context.config.model;
    const double tokens = static_cast<double>(context.config.batch) * model.context;
    return {run::offer_units(context.config, context.layouts.front()), tokens * 4, Duration{}};
}

}  // namespace

Launcher::Launcher(
    RunContext& context,
    std::span<const std::uint32_t> corpus,
    std::uint64_t seed,
    const run::SampleRows* rows
)
    : context_(context),
      plan_(context.config, corpus, rows),
      router_(router::make_policy(context.config.policy, seed), {}) {}

void Launcher::refresh(TimePoint now) {
    const std::vector<SlotId> slots = context_.roster.pickable({0});
    router_.set_candidates(slots, now);
    for (const SlotId slot : slots) {
        const PeerStreams::Connection* const connection =
            context_.peer_streams.find(context_.roster.find(slot)->peer);
        router_.set_linked(slot, connection && connection->control_up && connection->bulk_up, now);
    }
}

bool Launcher::launch(const StepLedger::Launch& launch, Attempt attempt, node::Turn turn) {
    const protocol::LegId leg{context_.version, launch.microbatch, attempt, protocol::Leg::Forward};
    const auto slot = router_.pick(leg, request_for(context_), turn.now);
    if (!slot) {
        return false;
    }
    const Offer offer{leg, *slot, launch.mask, false, false};
    offers_[launch.microbatch] = offer;
    send(offer, turn);
    return true;
}

void Launcher::send(const Offer& offer, node::Turn turn) {
    const protocol::SlotInfo* const info = context_.roster.find(offer.slot);
    if (!info) {
        return;
    }
    protocol::Forward forward{
        offer.leg.version, offer.leg.microbatch, offer.leg.attempt, offer.mask, {}, {}};
    if (chooses_codecs(context_.config)) {
        forward.codecs = context_.codecs;
    }
    const std::uint64_t step = run::steps_before(context_.config, offer.leg.version.step);
    forward.tokens = plan_.tokens(step, offer.leg.microbatch);
    context_.peer_streams.post(info->peer, std::move(forward), {}, turn);
}

void Launcher::on_accepted(SlotId from, const protocol::LegId& leg, TimePoint now) {
    const auto found = offers_.find(leg.microbatch);
    if (found != offers_.end() && found->second.leg == leg && found->second.slot == from) {
        found->second.accepted = true;
        router_.accepted(from, leg, now);
    }
}

Launcher::Refusal Launcher::on_refused(
    SlotId from, const protocol::Refused& refused, node::Turn turn
) {
    const auto found = offers_.find(refused.leg.microbatch);
    if (found == offers_.end() || found->second.leg != refused.leg || found->second.slot != from) {
        return Refusal::Unknown;
    }
    router_.refused(from, refused.leg, refused.reason, turn.now);
    // Stale: a slot that was admitted after the attempt was made refuses it for ever.
    const bool stale = refused.reason == protocol::RefusedReason::Stale;
    const Refusal refusal = found->second.resent || stale ? Refusal::InDoubt : Refusal::Elsewhere;
    offers_.erase(found);
    return refusal;
}

void Launcher::on_passed(SlotId from, const protocol::LegId& leg, TimePoint now) {
    const auto found = offers_.find(leg.microbatch);
    if (found != offers_.end() && found->second.leg == leg && found->second.slot == from) {
        router_.passed(from, leg, now);
        offers_.erase(found);
    }
}

void Launcher::give_up(MicrobatchId id, Why why, TimePoint now) {
    const auto found = offers_.find(id);
    if (found == offers_.end()) {
        return;
    }
    if (why == Why::Overdue) {
        router_.timed_out(found->second.slot, found->second.leg, now);
    } else {
        router_.abandoned(found->second.slot, found->second.leg, now);
    }
    offers_.erase(found);
}

void Launcher::new_step(TimePoint now) {
    router_.abandon_all(now);
    offers_.clear();
}

void Launcher::resend(SlotId slot, node::Turn turn) {
    for (auto& [id, offer] : offers_) {
        if (offer.slot == slot && !offer.accepted) {
            offer.resent = true;
            send(offer, turn);
        }
    }
}

SlotId Launcher::holder(MicrobatchId id) const {
    const auto found = offers_.find(id);
    return found == offers_.end() ? SlotId{} : found->second.slot;
}

}  // namespace swarm::coordinator
