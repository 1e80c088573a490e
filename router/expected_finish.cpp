#include "router/expected_finish.hpp"

#include "swarm/base/units.hpp"

#include <algorithm>
#include <cmath>

namespace router {
namespace {

using swarm::in_seconds;

constexpr std::uint64_t kProbeWithinPicksMin = 50;
constexpr std::uint64_t kProbeWithinPicksPerPeer = 4;

}  // namespace

ExpectedFinish::ExpectedFinish(std::uint64_t seed) : seed_(seed), rng_(seed, 0) {}

void ExpectedFinish::add(SlotId slot, TimePoint now) {
    const auto [found, added] = peers_.try_emplace(slot);
    if (!added) {
        return;
    }
    Peer& peer = found->second;
    peer.slot = slot;
    peer.order = own_order(seed_, slot);
    peer.picked_at = picks_;
    peer.news_at = now;
    insert_sorted(all_, peer);
    insert_sorted(open_, peer);
}

void ExpectedFinish::remove(SlotId slot) {
    Peer* const peer = find(slot);
    if (peer == nullptr) {
        return;
    }
    mean_rate_.replace(peer->units_per_s, 0);
    mean_bandwidth_.replace(peer->bytes_per_s, 0);
    means_changed();
    std::erase(all_, peer);
    std::erase(open_, peer);
    peers_.erase(slot);
}

void ExpectedFinish::set_open(SlotId slot, bool open, TimePoint /*now*/) {
    Peer* const peer = find(slot);
    if (peer == nullptr || peer->open == open) {
        return;
    }
    peer->open = open;
    if (open) {
        insert_sorted(open_, *peer);
    } else {
        std::erase(open_, peer);
    }
}

std::optional<SlotId> ExpectedFinish::pick(const Request& request, TimePoint now) {
    if (open_.empty()) {
        return std::nullopt;
    }
    ++picks_;
    Peer* peer = due_probe(request, now);
    if (peer == nullptr) {
        peer = earliest(request);
    }
    peer->queued_units += request.work_units;
    peer->picked_at = picks_;
    peer->tried = true;
    ++peer->in_flight;
    return peer->slot;
}

void ExpectedFinish::undo(SlotId slot, const Request& request, TimePoint /*now*/) {
    if (Peer* const peer = find(slot)) {
        take_back(*peer, request);
    }
}

void ExpectedFinish::finished(SlotId slot, const Request& request, TimePoint /*now*/) {
    if (Peer* const peer = find(slot)) {
        take_back(*peer, request);
    }
}

void ExpectedFinish::rate_changed(SlotId slot, double units_per_s, TimePoint now) {
    Peer* const peer = find(slot);
    if (peer == nullptr || !(units_per_s > 0)) {
        return;
    }
    mean_rate_.replace(peer->units_per_s, units_per_s);
    peer->units_per_s = units_per_s;
    peer->s_per_unit = 1 / units_per_s;
    peer->news_at = now;
    means_changed();
}

void ExpectedFinish::bandwidth_changed(SlotId slot, double bytes_per_s, TimePoint /*now*/) {
    Peer* const peer = find(slot);
    if (peer == nullptr || !(bytes_per_s > 0)) {
        return;
    }
    mean_bandwidth_.replace(peer->bytes_per_s, bytes_per_s);
    peer->bytes_per_s = bytes_per_s;
    peer->s_per_byte = 1 / bytes_per_s;
    means_changed();
}

double ExpectedFinish::seconds(const Peer& peer, const Request& request) const {
    const double s_per_unit = peer.units_per_s > 0 ? peer.s_per_unit : mean_s_per_unit_;
    const double s_per_byte = peer.bytes_per_s > 0 ? peer.s_per_byte : mean_s_per_byte_;
    return (peer.queued_units + request.work_units) * s_per_unit + request.bytes * s_per_byte;
}

bool ExpectedFinish::fits(const Peer& peer, const Request& request, TimePoint now) const {
    if (request.step_needs <= Duration::zero() || !mean_rate_.known()) {
        return true;
    }
    // Whole half-lives, so that the figure is exact and the same with every math library.
    const Duration::rep half_lives =
        std::max<Duration::rep>(0, (now - peer.news_at) / kNewsHalfLife);
    const int exponent = static_cast<int>(std::min<Duration::rep>(half_lives, 1000));
    return std::ldexp(seconds(peer, request), -exponent) <= in_seconds(request.step_needs);
}

// Looks at one peer per pick, so at each of n peers once in n picks: a peer that is due after `age`
// picks is probed within age + n picks, also when all become due at once.
ExpectedFinish::Peer* ExpectedFinish::due_probe(const Request& request, TimePoint now) {
    const std::uint64_t n = all_.size();
    const std::uint64_t age = std::max(kProbeWithinPicksMin, kProbeWithinPicksPerPeer * n) - n;
    probe_cursor_ = probe_cursor_ + 1 < n ? probe_cursor_ + 1 : 0;
    Peer* const peer = all_[probe_cursor_];
    const bool due = !peer->tried || picks_ - peer->picked_at >= age;
    if (!due || !peer->open || peer->in_flight > 0 || !fits(*peer, request, now)) {
        return nullptr;
    }
    return peer;
}

ExpectedFinish::Peer* ExpectedFinish::earliest(const Request& request) {
    const bool compare_all = open_.size() <= kCompareAllMax;
    const std::size_t choices = compare_all ? open_.size() : kRandomChoices;
    Peer* best = nullptr;
    double best_seconds = 0;
    for (std::size_t i = 0; i < choices; ++i) {
        Peer* const peer = open_[compare_all ? i : rng_.below(open_.size())];
        const double expected = seconds(*peer, request);
        if (best == nullptr || expected < best_seconds) {
            best = peer;
            best_seconds = expected;
        }
    }
    return best;
}

ExpectedFinish::Peer* ExpectedFinish::find(SlotId slot) {
    const auto found = peers_.find(slot);
    return found == peers_.end() ? nullptr : &found->second;
}

void ExpectedFinish::insert_sorted(std::vector<Peer*>& peers, Peer& peer) {
    const auto before = [](const Peer* a, const Peer* b) { return a->order < b->order; };
    peers.insert(std::lower_bound(peers.begin(), peers.end(), &peer, before), &peer);
}

void ExpectedFinish::take_back(Peer& peer, const Request& request) {
    peer.in_flight -= peer.in_flight > 0 ? 1 : 0;
    // An idle peer has no queue, whatever remainder rounding left.
    peer.queued_units =
        peer.in_flight > 0 ? std::max(0.0, peer.queued_units - request.work_units) : 0;
}

void ExpectedFinish::means_changed() {
    mean_s_per_unit_ = 1 / mean_rate_.value();
    mean_s_per_byte_ = mean_bandwidth_.known() ? 1 / mean_bandwidth_.value() : 0;
}

}  // namespace router
