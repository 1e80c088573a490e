#include "router/session_router.hpp"

#include "swarm/base/rng.hpp"
#include "swarm/protocol/limits.hpp"

#include <algorithm>
#include <cmath>
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

double rate_or_none(double rate) {
    constexpr double kLeast = 1e-6;  // keeps costs finite
    return std::isfinite(rate) && rate > 0 ? std::clamp(rate, kLeast, swarm::protocol::kRowsPerSMax)
                                           : 0;
}

/// Returns the median of the known rates, the lower one of two; 0 where none is known.
double median_of_known(std::vector<double> rates) {
    std::erase(rates, 0.0);
    if (rates.empty()) {
        return 0;
    }
    const auto middle = rates.begin() + static_cast<std::ptrdiff_t>((rates.size() - 1) / 2);
    std::nth_element(rates.begin(), middle, rates.end());
    return *middle;
}

double seconds(const SessionWork& work, const swarm::protocol::RowRates& rates) {
    return work.prefill_rows / rates.prefill_per_s + work.decode_rows / rates.decode_per_s;
}

}  // namespace

const SessionRouter::Peer* SessionRouter::find(PeerId peer) const {
    static const Peer unknown{};
    const auto found = peers_.find(peer);
    return found == peers_.end() ? &unknown : &found->second;
}

void SessionRouter::claim(std::span<const swarm::protocol::HostInfo> hosts) {
    claims_.clear();
    for (const swarm::protocol::HostInfo& host : hosts) {
        claims_[host.peer] = {
            rate_or_none(host.rates.prefill_per_s), rate_or_none(host.rates.decode_per_s)};
    }
}

SessionRouter::Rates SessionRouter::claimed(PeerId peer) const {
    const auto found = claims_.find(peer);
    return found == claims_.end() ? Rates{} : found->second;
}

SessionRouter::Rates SessionRouter::median_claim(std::span<const PeerId> peers) const {
    std::vector<double> prefill;
    std::vector<double> decode;
    for (const PeerId peer : peers) {
        prefill.push_back(claimed(peer).prefill_per_s);
        decode.push_back(claimed(peer).decode_per_s);
    }
    return {median_of_known(std::move(prefill)), median_of_known(std::move(decode))};
}

SessionRouter::Rates SessionRouter::seen(const Peer& peer) const {
    return {
        peer.prefill.units_per_s().value_or(mean_prefill_.value()),
        peer.decode.units_per_s().value_or(mean_decode_.value())};
}

/// The rate that we see is the pace of one session on a whole path. It shows that a peer is slower
/// than its claim, not how much the peer can do for all sessions.
SessionRouter::Rates SessionRouter::believed(PeerId peer, const Rates& median) const {
    const auto rate = [](double claimed, double middle, double seen, double mean) {
        const double known = claimed > 0 ? std::min(claimed, kClaimMax * middle) : middle;
        return known * std::min(1.0, seen / mean);
    };
    const Rates own = claimed(peer);
    const Rates here = seen(*find(peer));
    return {
        rate(own.prefill_per_s, median.prefill_per_s, here.prefill_per_s, mean_prefill_.value()),
        rate(own.decode_per_s, median.decode_per_s, here.decode_per_s, mean_decode_.value())};
}

/// An exponential draw of mean 1. Among several peers, each draw over its peer's rate, a peer's is
/// the least with a probability equal to its share of the rates. The draw stays the same until the
/// next session is placed.
double SessionRouter::draw(PeerId peer) const {
    return -std::log1p(-swarm::Rng(own_order(seed_, peer), placed_).unit());
}

std::optional<PeerId> SessionRouter::pick(
    std::span<const PeerId> peers,
    const SessionWork& work,
    TimePoint now,
    std::span<const PeerId> except
) const {
    const Rates median = median_claim(peers);
    const bool drawn = median.prefill_per_s > 0 && median.decode_per_s > 0;
    std::optional<PeerId> best;
    std::pair<double, std::uint64_t> best_cost;
    for (const PeerId peer : peers) {
        const Peer& known = *find(peer);
        const bool excepted = std::find(except.begin(), except.end(), peer) != except.end();
        if (excepted || known.rests_until > now || known.full_until > now) {
            continue;
        }
        const Rates rates = drawn ? believed(peer, median) : seen(known);
        const double own = (drawn ? draw(peer) : 1) * seconds(work, rates);
        const std::pair cost{seconds(known.queued, rates) + own, own_order(seed_, peer)};
        if (!best || cost < best_cost) {
            best = peer;
            best_cost = cost;
        }
    }
    return best;
}

bool SessionRouter::may_return(
    PeerId peer, std::span<const PeerId> peers, double decode_rows, TimePoint now
) const {
    const Peer& known = *find(peer);
    if (std::find(peers.begin(), peers.end(), peer) == peers.end() || known.rests_until > now ||
        known.full_until > now) {
        return false;
    }
    double all = 0;
    for (const PeerId other : peers) {
        all += find(other)->queued.decode_rows;
    }
    const double mean = all / static_cast<double>(peers.size());
    return known.queued.decode_rows <= kCrowded * (mean + decode_rows);
}

void SessionRouter::placed(PeerId peer, const SessionWork& work) {
    add(peers_[peer].queued, work, 1);
    ++placed_;
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
