#include "router/hop_router.hpp"

#include "swarm/base/check.hpp"

#include <algorithm>
#include <chrono>

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
    const std::vector<SlotId> known = slots_;
    for (const SlotId slot : known) {
        if (!listed.contains(slot)) {
            remove(slot);
        }
    }
    for (const SlotId slot : listed) {
        if (!find(slot)) {
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
    hide(except, now);
    const std::optional<SlotId> slot = policy_->pick(request, now);
    show(except, now);
    if (!slot) {
        return std::nullopt;
    }
    Candidate* const candidate = find(*slot);
    SWARM_ASSERT(candidate != nullptr);
    // One successor per leg: the caller offers a leg once.
    SWARM_ASSERT(find(*candidate, leg) == candidate->offers.end());
    candidate->offers.push_back({leg, request, now});
    refresh(*candidate, now);
    return slot;
}

void HopRouter::accepted(SlotId slot, const LegId& leg, std::optional<TimePoint> now) {
    Candidate* const candidate = find(slot);
    if (candidate == nullptr) {
        return;
    }
    const auto found = find(*candidate, leg);
    if (found == candidate->offers.end() || found->accepted) {
        return;
    }
    found->accepted = true;
    if (now && found->request.bytes > 0) {
        candidate->way.passed(found->request.bytes, found->sent, *now, 0);
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
    // Offers sent before the pause began say nothing about its proper length.
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
    if (candidate.rate.passed(offer->request.work_units, offer->sent, now, waiting)) {
        // The rate of an offer with no other before it tells more than a mean over many offers.
        const double took_s = std::chrono::duration<double>(now - offer->sent).count();
        const double alone = took_s > 0 ? offer->request.work_units / took_s : 0;
        candidate.best.observe(std::max(*candidate.rate.units_per_s(), alone), now);
    }
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
    if (candidate.rate.timed_out(offer->request.work_units, offer->sent, now)) {
        candidate.best.observe(*candidate.rate.units_per_s(), now);
    }
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
    for (Candidate& candidate : candidates_) {
        std::ranges::sort(candidate.offers, {}, &Offer::leg);
        for (const Offer& offer : candidate.offers) {
            policy_->finished(candidate.slot, offer.request, now);
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
    const auto found = std::ranges::lower_bound(slots_, slot);
    return found == slots_.end() || *found != slot
               ? 0
               : candidates_[static_cast<std::size_t>(found - slots_.begin())].offers.size();
}

std::vector<swarm::protocol::ObservedRate> HopRouter::observed_rates(TimePoint now) const {
    std::vector<swarm::protocol::ObservedRate> rates;
    rates.reserve(candidates_.size());
    for (const Candidate& candidate : candidates_) {
        const double best = candidate.best.units_per_s(now);
        if (best > 0 || !candidate.offers.empty()) {
            rates.push_back({candidate.slot, best, static_cast<double>(candidate.offers.size())});
        }
    }
    return rates;
}

HopRouter::Candidate* HopRouter::find(SlotId slot) {
    const auto found = std::ranges::lower_bound(slots_, slot);
    return found == slots_.end() || *found != slot
               ? nullptr
               : &candidates_[static_cast<std::size_t>(found - slots_.begin())];
}

std::vector<HopRouter::Offer>::iterator HopRouter::find(Candidate& candidate, const LegId& leg) {
    return std::ranges::find(candidate.offers, leg, &Offer::leg);
}

void HopRouter::add(SlotId slot, TimePoint now) {
    const auto place = std::ranges::lower_bound(slots_, slot) - slots_.begin();
    slots_.insert(slots_.begin() + place, slot);
    Candidate& candidate = *candidates_.insert(candidates_.begin() + place, Candidate{slot});
    candidate.backoff = options_.backoff_first;
    candidate.linked = linked_.contains(slot);
    policy_->add(slot, now);
    refresh(candidate, now);
}

void HopRouter::remove(SlotId slot) {
    Candidate& candidate = *find(slot);
    unpause(candidate);
    policy_->remove(slot);
    const auto place = &candidate - candidates_.data();
    slots_.erase(slots_.begin() + place);
    candidates_.erase(candidates_.begin() + place);
}

std::optional<HopRouter::Offer> HopRouter::end(SlotId slot, const LegId& leg) {
    Candidate* const candidate = find(slot);
    if (candidate == nullptr) {
        return std::nullopt;
    }
    const auto found = find(*candidate, leg);
    if (found == candidate->offers.end()) {
        return std::nullopt;
    }
    const Offer offer = *found;
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

void HopRouter::hide(std::span<const SlotId> slots, TimePoint now) {
    set_open(slots, false, now);
}

void HopRouter::show(std::span<const SlotId> slots, TimePoint now) {
    set_open(slots, true, now);
}

void HopRouter::set_open(std::span<const SlotId> slots, bool open, TimePoint now) {
    for (const SlotId slot : slots) {
        const Candidate* const candidate = find(slot);
        if (candidate != nullptr && candidate->open) {
            policy_->set_open(slot, open, now);
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
