#include "router/session_router.hpp"

#include "swarm/base/rng.hpp"

#include <algorithm>
#include <utility>

namespace router {
namespace {

std::uint64_t own_order(std::uint64_t seed, PeerId peer) {
    std::uint64_t order = seed;
    for (const std::uint64_t word : peer.words) {
        order = swarm::mix_bits(order ^ swarm::mix_bits(word));
    }
    return order;
}

void observe(RateMeter& meter, MeanRate& mean, double rows, TimePoint sent, TimePoint now) {
    const double before = meter.units_per_s().value_or(0);
    meter.passed(rows, sent, now, 0);
    mean.replace(before, meter.units_per_s().value_or(0));
}

void add(SessionWork& sum, const SessionWork& work, double sign) {
    sum.prefill_rows = std::max(0.0, sum.prefill_rows + sign * work.prefill_rows);
    sum.decode_rows = std::max(0.0, sum.decode_rows + sign * work.decode_rows);
}

}  // namespace

const SessionRouter::Peer* SessionRouter::find(PeerId peer) const {
    static const Peer unknown{};
    const auto found = peers_.find(peer);
    return found == peers_.end() ? &unknown : &found->second;
}

double SessionRouter::seconds(const Peer& peer, const SessionWork& work) const {
    const double prefill = peer.prefill.units_per_s().value_or(mean_prefill_.value());
    const double decode = peer.decode.units_per_s().value_or(mean_decode_.value());
    return (peer.queued.prefill_rows + work.prefill_rows) / prefill +
           (peer.queued.decode_rows + work.decode_rows) / decode;
}

std::optional<PeerId> SessionRouter::pick(
    std::span<const PeerId> peers,
    const SessionWork& work,
    TimePoint now,
    std::span<const PeerId> except
) const {
    std::optional<PeerId> best;
    std::pair<double, std::uint64_t> best_cost;
    for (const PeerId peer : peers) {
        const Peer& known = *find(peer);
        const bool excepted = std::find(except.begin(), except.end(), peer) != except.end();
        if (excepted || known.rests_until > now || known.full_until > now) {
            continue;
        }
        const std::pair cost{seconds(known, work), own_order(seed_, peer)};
        if (!best || cost < best_cost) {
            best = peer;
            best_cost = cost;
        }
    }
    return best;
}

void SessionRouter::placed(PeerId peer, const SessionWork& work) {
    add(peers_[peer].queued, work, 1);
}

void SessionRouter::left(PeerId peer, const SessionWork& work) {
    add(peers_[peer].queued, work, -1);
}

void SessionRouter::prefilled(PeerId peer, std::uint32_t rows, TimePoint sent, TimePoint now) {
    observe(peers_[peer].prefill, mean_prefill_, rows, sent, now);
}

void SessionRouter::decoded(PeerId peer, TimePoint sent, TimePoint now) {
    observe(peers_[peer].decode, mean_decode_, 1, sent, now);
}

void SessionRouter::rest(PeerId peer, TimePoint now) {
    Peer& resting = peers_[peer];
    resting.rests_until = now + resting.rest;
    resting.rest = std::min(2 * resting.rest, kRestMax);
}

TimePoint SessionRouter::usable_at(std::span<const PeerId> peers) const {
    TimePoint due = swarm::kNever;
    for (const PeerId peer : peers) {
        const Peer& known = *find(peer);
        due = std::min(due, std::max(known.rests_until, known.full_until));
    }
    return due;
}

bool SessionRouter::all_full(std::span<const PeerId> peers, TimePoint now) const {
    return !peers.empty() && std::all_of(peers.begin(), peers.end(), [&](PeerId peer) {
        return find(peer)->full_until > now;
    });
}

}  // namespace router
