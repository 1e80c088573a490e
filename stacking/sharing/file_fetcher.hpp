// Fetches chunks of a model's files, each known by its SHA-256, from up to kDonorsAtOnce servers
// that have told the same manifest.
// Invariants: at most kOpenFetchesMax requests are open per donor, so a fast donor gives more than
// a slow one. A chunk with another hash is dropped, and its donor is asked no more. A donor that
// lacks a chunk is not asked for it again; one that is silent for kAnswerWithin times the donors in
// use rests for kRest, and others give what it owes.
// Bounds: a chunk is held by take()'s caller alone; requests stop while the caller says so.
// Threading: single strand. Cost: SHA-256 of each chunk, 0.6 ms.
#pragma once

#include "swarm/base/digest.hpp"
#include "swarm/node/role.hpp"
#include "swarm/protocol/limits.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <vector>

namespace stacking::sharing {

namespace node = swarm::node;
namespace protocol = swarm::protocol;
using swarm::PeerId;
using swarm::TimePoint;

class FileFetcher {
 public:
    static constexpr std::size_t kDonorsAtOnce = 4;
    static constexpr swarm::Duration kAnswerWithin = std::chrono::seconds(10);
    static constexpr swarm::Duration kRest = std::chrono::seconds(30);
    static constexpr swarm::Duration kBusyPause = std::chrono::milliseconds(200);

    enum class Pace { Ask, Hold };

    /// `hashes`: by chunk, from the manifest.
    FileFetcher(swarm::Digest manifest, std::vector<swarm::Digest> hashes)
        : manifest_(manifest), hashes_(std::move(hashes)) {}

    void want(std::span<const std::uint32_t> chunks);

    // A donor counts while its links are up.
    void donor_up(PeerId donor);
    void donor_down(PeerId donor);

    /// Returns true for a chunk that was asked of this donor and has its hash.
    bool take(
        PeerId from,
        const protocol::FileChunk& chunk,
        std::span<const std::byte> bytes,
        TimePoint now
    );
    void take(PeerId from, const protocol::FileRefused& refused, TimePoint now);

    void advance(Pace pace, node::Turn turn);
    [[nodiscard]] TimePoint next_deadline() const;

    /// Whether all wanted chunks have come.
    [[nodiscard]] bool is_complete() const { return wanted_.empty(); }

    [[nodiscard]] std::size_t missing() const { return wanted_.size(); }

    [[nodiscard]] bool is_liar(PeerId donor) const { return liars_.contains(donor); }

    [[nodiscard]] std::size_t donors() const { return donors_.size(); }

    /// Donors that have given a chunk.
    [[nodiscard]] std::size_t givers() const { return givers_.size(); }

 private:
    struct Donor {
        std::set<std::uint32_t> open;  // chunks that it was asked for
        std::set<std::uint32_t> lacks;
        TimePoint not_before = swarm::kAtOnce;
        TimePoint silent_since = swarm::kNever;  // set while an answer is due
    };

    void rest_silent_donors(TimePoint now);
    void ask(PeerId peer, Donor& donor, node::Turn turn);
    [[nodiscard]] bool is_asked(std::uint32_t chunk) const;
    [[nodiscard]] swarm::Duration patience() const;
    [[nodiscard]] std::size_t in_use() const;
    void forgive_gaps(TimePoint now);

    swarm::Digest manifest_;
    std::vector<swarm::Digest> hashes_;
    std::set<std::uint32_t> wanted_;  // with those that are asked for
    std::map<PeerId, Donor> donors_;
    std::set<PeerId> liars_;
    std::set<PeerId> givers_;
    TimePoint gaps_until_ = swarm::kNever;
};

}  // namespace stacking::sharing
