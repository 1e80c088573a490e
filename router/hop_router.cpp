#include "router/hop_router.hpp"

#include "swarm/base/check.hpp"

#include <algorithm>

namespace router {

HopRouter::HopRouter(std::unique_ptr<Policy> policy, Options options)
    : policy_(std::move(policy)), options_(options) {
    SWARM_ASSERT(policy_ != nullptr);
    SWARM_ASSERT(options_.offers_per_peer > 0);
    SWARM_ASSERT(options_.backoff_first > Duration::zero());
    SWARM_ASSERT(options_.probe_closed_after > Duration::zero());
}

HopRouter::~HopRouter() = default;

void HopRouter::set_candidates(const std::vector<SlotId>& slots, TimePoint now) {
    const std::set<SlotId> listed(slots.begin(), slots.end());
    std::vector<SlotId> gone;
    for (const auto& [slot, candidate] : candidates_) {
        if (!listed.contains(slot)) {
            gone.push_back(slot);
        }
    }
    for (const SlotId slot : gone) {
        remove(slot);
    }
    for (const SlotId slot : listed) {
        if (!candidates_.contains(slot)) {
            add(slot, now);
        }
    }
}

void HopRouter::set_linked(SlotId slot, bool linked, TimePoint now) {
    if (linked) {
        linked_.insert(slot);
    } else {
        linked_.erase(slot);
    }
    if (Candidate* const candidate = find(slot)) {
        candidate->linked = linked;
        refresh(*candidate, now);
    }
}

std::optional<SlotId> HopRouter::pick(
    const LegId& leg, const Request& request, TimePoint now, std::span<const SlotId> except
) {
    wake(now);
    hide(except, true, now);
    const std::optional<SlotId> slot = policy_->pick(request, now);
    hide(except, false, now);
    if (!slot) {
        return std::nullopt;
    }
    Candidate* const candidate = find(*slot);
    SWARM_ASSERT(candidate != nullptr);
    const bool added = candidate->offers.try_emplace(leg, Offer{request, now}).second;
    SWARM_ASSERT(added);  // one successor per leg: the caller offers a leg once
    refresh(*candidate, now);
    return slot;
}

void HopRouter::accepted(SlotId slot, const LegId& leg, std::optional<TimePoint> now) {
    Candidate* const candidate = find(slot);
    if (candidate == nullptr) {
        return;
    }
    const auto found = candidate->offers.find(leg);
    if (found == candidate->offers.end() || found->second.accepted) {
        return;
    }
    found->second.accepted = true;
    if (now && found->second.request.bytes > 0) {
        candidate->way.passed(found->second.request.bytes, found->second.sent, *now, 0);
        policy_->bandwidth_changed(slot, *candidate->way.units_per_s(), *now);
    }
}

void HopRouter::refused(
    SlotId slot, const LegId& leg, swarm::protocol::RefusedReason reason, TimePoint now
) {
    const std::optional<Offer> offer = end(slot, leg);
    if (!offer) {
        return;
    }
    Candidate& candidate = *find(slot);
    policy_->undo(slot, offer->request, now);
    // Offers sent before the pause began say nothing about what it ought to be.
    if (reason == swarm::protocol::RefusedReason::Busy && !candidate.paused_until) {
        pause(candidate, now + candidate.backoff);
        candidate.backoff = std::min(2 * candidate.backoff, options_.backoff_max);
    }
    refresh(candidate, now);
}

void HopRouter::passed(SlotId slot, const LegId& leg, TimePoint now) {
    const std::optional<Offer> offer = end(slot, leg);
    if (!offer) {
        return;
    }
    Candidate& candidate = *find(slot);
    candidate.timeouts = 0;
    candidate.backoff = options_.backoff_first;
    unpause(candidate);
    policy_->finished(slot, offer->request, now);
    const std::size_t waiting = candidate.offers.size();
    candidate.rate.passed(offer->request.work_units, offer->sent, now, waiting);
    tell_rate(candidate, now);
    refresh(candidate, now);
}

void HopRouter::timed_out(SlotId slot, const LegId& leg, TimePoint now) {
    const std::optional<Offer> offer = end(slot, leg);
    if (!offer) {
        return;
    }
    Candidate& candidate = *find(slot);
    policy_->finished(slot, offer->request, now);
    ++candidate.timeouts;
    candidate.rate.timed_out(offer->request.work_units, offer->sent, now);
    tell_rate(candidate, now);
    if (candidate.timeouts >= options_.timeouts_until_closed) {
        pause(candidate, now + options_.probe_closed_after);
    }
    refresh(candidate, now);
}

void HopRouter::abandoned(SlotId slot, const LegId& leg, TimePoint now) {
    if (const std::optional<Offer> offer = end(slot, leg)) {
        policy_->finished(slot, offer->request, now);
        end_probe(*find(slot), now);
        refresh(*find(slot), now);
    }
}

void HopRouter::abandon_all(TimePoint now) {
    for (auto& [slot, candidate] : candidates_) {
        for (const auto& [leg, offer] : candidate.offers) {
            policy_->finished(slot, offer.request, now);
        }
        candidate.offers.clear();
        end_probe(candidate, now);
        refresh(candidate, now);
    }
}

TimePoint HopRouter::next_deadline() const {
    return pauses_.empty() ? swarm::kNever : pauses_.begin()->first;
}

void HopRouter::wake(TimePoint now) {
    while (!pauses_.empty() && pauses_.begin()->first <= now) {
        Candidate& candidate = *find(pauses_.begin()->second);
        unpause(candidate);
        refresh(candidate, now);
    }
}

std::size_t HopRouter::offers_at(SlotId slot) const {
    const auto found = candidates_.find(slot);
    return found == candidates_.end() ? 0 : found->second.offers.size();
}

std::vector<swarm::protocol::ObservedRate> HopRouter::observed_rates(TimePoint now) const {
    std::vector<swarm::protocol::ObservedRate> rates;
    for (const auto& [slot, candidate] : candidates_) {
        const double best = candidate.rate.best_recent(now);
        if (best > 0 || !candidate.offers.empty()) {
            rates.push_back({slot, best, static_cast<double>(candidate.offers.size())});
        }
    }
    return rates;
}

HopRouter::Candidate* HopRouter::find(SlotId slot) {
    const auto found = candidates_.find(slot);
    return found == candidates_.end() ? nullptr : &found->second;
}

void HopRouter::add(SlotId slot, TimePoint now) {
    Candidate& candidate = candidates_[slot];
    candidate.slot = slot;
    candidate.backoff = options_.backoff_first;
    candidate.linked = linked_.contains(slot);
    policy_->add(slot, now);
    refresh(candidate, now);
}

void HopRouter::remove(SlotId slot) {
    unpause(*find(slot));
    policy_->remove(slot);
    candidates_.erase(slot);
}

std::optional<HopRouter::Offer> HopRouter::end(SlotId slot, const LegId& leg) {
    Candidate* const candidate = find(slot);
    if (candidate == nullptr) {
        return std::nullopt;
    }
    const auto found = candidate->offers.find(leg);
    if (found == candidate->offers.end()) {
        return std::nullopt;
    }
    const Offer offer = found->second;
    candidate->offers.erase(found);
    return offer;
}

// A peer that timed out too often gets one offer at a time, and the next only after a pause.
bool HopRouter::is_pickable(const Candidate& candidate) const {
    const bool only_probes = candidate.timeouts >= options_.timeouts_until_closed;
    return candidate.linked && !candidate.paused_until &&
           candidate.offers.size() < options_.offers_per_peer &&
           (!only_probes || candidate.offers.empty());
}

void HopRouter::refresh(Candidate& candidate, TimePoint now) {
    const bool open = is_pickable(candidate);
    if (open != candidate.open) {
        candidate.open = open;
        policy_->set_open(candidate.slot, open, now);
    }
}

void HopRouter::hide(std::span<const SlotId> slots, bool hidden, TimePoint now) {
    for (const SlotId slot : slots) {
        const Candidate* const candidate = find(slot);
        if (candidate != nullptr && candidate->open) {
            policy_->set_open(slot, !hidden, now);
        }
    }
}

void HopRouter::pause(Candidate& candidate, TimePoint until) {
    unpause(candidate);
    candidate.paused_until = until;
    pauses_.insert({until, candidate.slot});
}

void HopRouter::unpause(Candidate& candidate) {
    if (candidate.paused_until) {
        pauses_.erase({*candidate.paused_until, candidate.slot});
        candidate.paused_until.reset();
    }
}

// A probe without an answer: the next one waits as if this one had timed out.
void HopRouter::end_probe(Candidate& candidate, TimePoint now) {
    if (candidate.timeouts >= options_.timeouts_until_closed && !candidate.paused_until) {
        pause(candidate, now + options_.probe_closed_after);
    }
}

void HopRouter::tell_rate(const Candidate& candidate, TimePoint now) {
    if (const std::optional<double> rate = candidate.rate.units_per_s()) {
        policy_->rate_changed(candidate.slot, *rate, now);
    }
}

}  // namespace router
