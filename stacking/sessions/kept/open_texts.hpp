// The texts of a client's open sessions, for others of its sessions that begin so: those that are
// read may be shared at once, and those that are being read are worth waiting for.
// Invariant: an entry stands for the route that its session has now; a session without one has no
// entry. Whoever waits, waits for a session that has a route, so nobody waits in a circle.
// Threading: single strand. Bounds: one entry for each session. Cost: find() compares with each.
#pragma once

#include "stacking/sessions/kept/kept_texts.hpp"

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <utility>

namespace stacking::sessions {

struct OpenText {
    KeptText text;                // the pages of the prompt; codecs are known once it is read
    std::uint32_t to_read = 0;    // tokens that the session reads before its next token
    bool is_read = false;         // every hop has the pages
    swarm::TimePoint moved_at{};  // when the session came on the last time
};

class OpenTexts {
 public:
    struct Match {
        std::uint64_t session = 0;
        const OpenText* open = nullptr;
        std::size_t pages = 0;
    };

    using Fits = std::function<bool(const OpenText& open, std::size_t pages)>;

    void set(std::uint64_t session, OpenText open) { texts_[session] = std::move(open); }

    void erase(std::uint64_t session) { texts_.erase(session); }

    [[nodiscard]] OpenText* find(std::uint64_t session);

    /// Returns the text with the most pages in common, of those that fit; of equals the oldest.
    [[nodiscard]] std::optional<Match> find(std::span<const std::uint64_t> names, const Fits& fits)
        const;

 private:
    std::map<std::uint64_t, OpenText> texts_;  // by session
};

}  // namespace stacking::sessions
