// Which peer serves the next hop of a session. A session stays with the peer that has its KV pages,
// so a pick is for a whole session, prefill and decode each at its own rate. Where peers say their
// rates, it is drawn: with nothing of ours under way a peer has the share of sessions that it can
// do, which over whole stages is a maximum flow; what is under way counts against it. A claim
// counts up to kClaimMax medians, less where this client saw the peer slower than others.
// Where nobody says: the first at which queued and own rows are done, at the rates seen from here;
// a peer that was never measured counts with the mean.
// Not picked: who rests after a failure (doubling pauses), and who said it is full, until then.
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
    /// A liar among n equal peers is sent at most kClaimMax / (kClaimMax + n - 1) of the sessions.
    static constexpr double kClaimMax = 4;

    /// `seed`: the client's, for an order of its own among equals.
    explicit SessionRouter(std::uint64_t seed) : seed_(seed) {}

    /// Of `peers`, the best that may be picked now; `except`: who is on the path already.
    [[nodiscard]] std::optional<PeerId> pick(
        std::span<const PeerId> peers,
        const SessionWork& work,
        TimePoint now,
        std::span<const PeerId> except = {}
    ) const;

    /// What peers say of themselves now, and nobody else; what is no rate counts as not known.
    void claim(std::span<const swarm::protocol::HostInfo> hosts);

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
