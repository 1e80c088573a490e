// The pages that a server keeps of sessions that have ended, with the rows that went on, by the
// names that their client gave them. The client's next session with the same
// beginning shares these pages and reads the rest.
// Invariant: a client finds only what its own sessions left, because a hop cannot check that rows
// stand for the tokens of a name: a lie about them is the liar's alone.
// Bounds: kKeptMax caches, kTtl each. They take only pages that no session wants. When there is no
// room, the client that keeps the most pages loses its oldest ones, so that nobody's flood of texts
// costs others what they keep. Threading: single strand. Cost: O(caches log clients) per call.
#pragma once

#include "stacking/session_compute.hpp"
#include "stacking/sessions/row_log.hpp"
#include "swarm/base/units.hpp"
#include "swarm/protocol/message.hpp"

#include <deque>
#include <optional>
#include <span>
#include <vector>

namespace stacking::sessions {

/// Returns how many first pages have the same names.
std::size_t common_pages(std::span<const std::uint64_t> a, std::span<const std::uint64_t> b);

class KeptCaches {
 public:
    static constexpr std::size_t kKeptMax = 256;
    static constexpr swarm::Duration kTtl = std::chrono::minutes(10);

    /// The place on a path for which rows were computed; the names hold what lies before it.
    struct Place {
        swarm::PeerId client;
        std::uint32_t hop = 0;
        bool is_last = false;
        swarm::protocol::CodecId codec = swarm::protocol::CodecId::None;  // rows left in it

        friend bool operator==(const Place&, const Place&) = default;
    };

    struct Kept {
        Place place;
        std::vector<std::uint64_t> names;  // one for each page
        CacheId cache;
        RowLog log;
        std::uint64_t log_bytes = 0;
        swarm::TimePoint until{};
    };

    struct Match {
        const Kept* kept = nullptr;
        std::size_t pages = 0;
    };

    /// Returns the cache that has the most pages under the first of these names.
    [[nodiscard]] std::optional<Match> find(
        const Place& place, std::span<const std::uint64_t> names
    ) const;

    /// Returns those that the new one makes superfluous, for the caller to drop: their texts begin
    /// the new one, or they were too many.
    [[nodiscard]] std::vector<Kept> add(Kept kept);

    /// Takes out the oldest one of the client that keeps the most; `except` is not looked at.
    std::optional<Kept> take_superfluous(std::optional<CacheId> except);

    /// Takes out those whose time is over.
    [[nodiscard]] std::vector<Kept> take_expired(swarm::TimePoint now);

    [[nodiscard]] swarm::TimePoint next_deadline() const;

    [[nodiscard]] bool has(CacheId cache) const;

    [[nodiscard]] std::size_t size() const { return kept_.size(); }

 private:
    std::deque<Kept> kept_;  // by age, oldest first
};

}  // namespace stacking::sessions
