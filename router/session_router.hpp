// Which peer serves the next hop of a session. A session stays with the peer that has its KV pages,
// so a pick is for a whole session: it goes where prompt and text are expected to be done first,
//   queued rows + own rows, divided by the rate, for prefill and decode each with its own rate.
// Both rates are what this client saw itself; a peer that was never measured counts with the mean.
// Not picked: who rests after a failure (doubling pauses), and who said it is full, until then.
// Threading: single strand. Bounds: the peers listed. Cost: pick O(peers of the stage).
// Source: Helix (prefill and decode apart, memory first); weights by max-flow are not used yet.
#pragma once

#include "router/mean_rate.hpp"
#include "router/rate_meter.hpp"
#include "swarm/base/ids.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

namespace router {

using swarm::PeerId;

/// Rows that a session still brings.
struct SessionWork {
    double prefill_rows = 0;
    double decode_rows = 0;
};

class SessionRouter {
 public:
    static constexpr Duration kRestFirst = std::chrono::milliseconds(100);
    static constexpr Duration kRestMax = std::chrono::seconds(5);

    /// `seed`: the client's, for an order of its own among equals.
    explicit SessionRouter(std::uint64_t seed) : seed_(seed) {}

    /// Of `peers`, the best that may be picked now; `except`: who is on the path already.
    [[nodiscard]] std::optional<PeerId> pick(
        std::span<const PeerId> peers,
        const SessionWork& work,
        TimePoint now,
        std::span<const PeerId> except = {}
    ) const;

    /// A session was placed there, or left.
    void placed(PeerId peer, const SessionWork& work);
    void left(PeerId peer, const SessionWork& work);

    /// Rows of ours went through it in this time, as seen from here.
    void prefilled(PeerId peer, std::uint32_t rows, TimePoint sent, TimePoint now);
    void decoded(PeerId peer, TimePoint sent, TimePoint now);

    /// It failed or kept silent: not again before its rest is over.
    void rest(PeerId peer, TimePoint now);

    void full(PeerId peer, TimePoint until) { peers_[peer].full_until = until; }

    /// All is well again: the next rest is a short one.
    void succeeded(PeerId peer) { peers_[peer].rest = kRestFirst; }

    /// When the first of them may be picked again; kNever when nobody is listed.
    [[nodiscard]] TimePoint usable_at(std::span<const PeerId> peers) const;
    /// Whether somebody is listed, and nobody is kept away by anything but being full.
    [[nodiscard]] bool all_full(std::span<const PeerId> peers, TimePoint now) const;

 private:
    struct Peer {
        RateMeter prefill{};
        RateMeter decode{};
        SessionWork queued{};
        TimePoint rests_until = swarm::kAtOnce;
        TimePoint full_until = swarm::kAtOnce;
        Duration rest = kRestFirst;
    };

    [[nodiscard]] double seconds(const Peer& peer, const SessionWork& work) const;
    [[nodiscard]] const Peer* find(PeerId peer) const;

    std::uint64_t seed_;
    std::map<PeerId, Peer> peers_;
    MeanRate mean_prefill_;
    MeanRate mean_decode_;
};

}  // namespace router
