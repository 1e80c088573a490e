// Decides how long a call of the device waits for further tokens, so that those of sessions which
// are together share a call: a call reads the weights once, for one token or for all.
// A session that was answered is expected again after as long as it took the last time. A call
// waits for those that are expected within a part of its time; and where calls are slow because
// others compute on this machine, within three times that delay: all of them take turns then, and
// fewer calls with more tokens make everybody quicker. Tokens that nobody expects are waited for
// as long as those that travel together are apart.
// Invariant: nothing waits longer than kMost. Threading: single strand.
// Cost: O(sessions that were answered within kTogether). Source: own.
#pragma once

#include "stacking/sessions/calls/call_pace.hpp"
#include "swarm/base/units.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>

namespace stacking::sessions {

class TokenGather {
 public:
    static constexpr swarm::Duration kMost = std::chrono::milliseconds(50);
    /// Calls wait only where another session's token came so lately.
    static constexpr swarm::Duration kTogether = std::chrono::seconds(1);

    /// The returns of a hop's session.
    struct Returns {
        std::optional<swarm::TimePoint> answered{};  // when, until its next token comes
        std::optional<swarm::Duration> took{};       // from the last answer to the next token
    };

    /// Takes a token. `first`: none waits for a call.
    void came(std::uint64_t session, bool first, Returns& hop, swarm::TimePoint now);

    /// Takes the answer to a token.
    void answered(std::uint64_t session, Returns& hop, swarm::TimePoint now);
    /// Takes the end of a call. `rows`: tokens and guesses, and 0 where it read prompts.
    void ended(std::size_t rows, swarm::Duration call, swarm::TimePoint now);
    /// Waits for no more tokens of the hop.
    void forget(std::uint64_t session, Returns& hop);

    /// Whether another session's token came lately.
    [[nodiscard]] bool is_shared() const;
    /// The time from which nothing more is waited for.
    [[nodiscard]] swarm::TimePoint until() const;

 private:
    /// Parts of the shortest call: what tokens that travel together are apart, how much later than
    /// expected a session may come, and how long sessions are waited for.
    static constexpr double kGapPart = 0.05;
    static constexpr double kLatePart = 0.05;
    static constexpr double kWaitPart = 0.3;
    /// The same in parts of the time that others on this machine cost a call.
    static constexpr double kLateOfSlow = 0.5;
    static constexpr double kWaitOfSlow = 3;

    CallPace pace_{};
    std::optional<std::uint64_t> last_of_{};       // the session whose token came last
    swarm::TimePoint last_at_{};                   // when it came
    std::optional<swarm::TimePoint> before_at_{};  // when one of another session came last
    swarm::TimePoint since_{};                     // tokens wait for the device since then
    std::map<std::uint64_t, swarm::TimePoint> expected_{};  // sessions that were answered
};

}  // namespace stacking::sessions
