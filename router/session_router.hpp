// Picks the peer that serves the next hop of a session. A session stays with the peer that has its
// KV pages, so a pick is for a whole session, prefill and decode each at its own rate. Where peers
// state their rates, the pick is drawn: a peer with no session of ours has the share of sessions
// that it can do, which over whole stages is a maximum flow; our sessions under way count against
// it. A claim counts up to kClaimMax medians, less where this client saw the peer slower than
// others.
// Where no peer states a rate: the peer that is first done with queued and own rows, at the rates
// seen from here; a peer that was never measured counts with the mean.
// Not picked: a peer that rests after a failure (pauses double), and one that said it is full,
// until then.
// Threading: single strand. Bounds: the peers listed. Cost: pick O(peers of the stage).
// Source: Helix (prefill and decode apart, memory first); exponential races, for the draw.
#pragma once

#include "router/mean_rate.hpp"
#include "router/rate_meter.hpp"
#include "swarm/base/ids.hpp"
#include "swarm/protocol/message.hpp"

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
    /// Factor on the median up to which a claim counts: a liar among n equal peers is sent at most
    /// kClaimMax / (kClaimMax + n - 1) of the sessions.
    static constexpr double kClaimMax = 4;
    static constexpr double kCrowded = 2;

    /// `seed`: the client's, for an order of its own among equals.
    explicit SessionRouter(std::uint64_t seed) : seed_(seed) {}

    /// The best peer among `peers` that may be picked now; `except`: the peers that are on the path
    /// already.
    [[nodiscard]] std::optional<PeerId> pick(
        std::span<const PeerId> peers,
        const SessionWork& work,
        TimePoint now,
        std::span<const PeerId> except = {}
    ) const;

    /// Whether a session that still brings so many tokens may go back to the listed peer that read
    /// its beginning: the peer may be picked, and has at most kCrowded times the tokens that a peer
    /// would have of us on average and with this session.
    [[nodiscard]] bool may_return(
        PeerId peer, std::span<const PeerId> peers, double decode_rows, TimePoint now
    ) const;

    /// Takes the rates that peers state for themselves, and for no other peer; a value that is no
    /// rate counts as not known.
    void claim(std::span<const swarm::protocol::HostInfo> hosts);

    /// Notes that a session was placed at the peer, or left it.
    void placed(PeerId peer, const SessionWork& work);
    void left(PeerId peer, const SessionWork& work);

    /// Notes that rows of ours went through the peer in this time, as seen from here.
    void prefilled(PeerId peer, std::uint32_t rows, TimePoint sent, TimePoint now);
    void decoded(PeerId peer, TimePoint sent, TimePoint now);

    /// Notes that the peer failed or kept silent: it is not picked again before its rest is over.
    void rest(PeerId peer, TimePoint now);

    void full(PeerId peer, TimePoint until) { peers_[peer].full_until = until; }

    /// Notes that all is well with the peer again: its next rest is a short one.
    void succeeded(PeerId peer) { peers_[peer].rest = kRestFirst; }

    /// Returns when the first of `peers` may be picked again; kNever when none is listed.
    [[nodiscard]] TimePoint usable_at(std::span<const PeerId> peers) const;
    /// Tells whether a peer is listed, and all listed peers are kept away only by being full.
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

    using Rates = swarm::protocol::RowRates;

    [[nodiscard]] Rates median_claim(std::span<const PeerId> peers) const;
    [[nodiscard]] Rates seen(const Peer& peer) const;
    [[nodiscard]] Rates claimed(PeerId peer) const;
    [[nodiscard]] Rates believed(PeerId peer, const Rates& median) const;
    [[nodiscard]] double draw(PeerId peer) const;
    [[nodiscard]] const Peer* find(PeerId peer) const;

    std::uint64_t seed_;
    std::uint64_t placed_ = 0;  // sessions in all
    std::map<PeerId, Peer> peers_;
    std::map<PeerId, Rates> claims_;
    MeanRate mean_prefill_;
    MeanRate mean_decode_;
};

}  // namespace router
