// Decides how long a call of the device waits for further tokens, so that those of sessions which
// are together share a call: a call reads the weights once, for one token or for all.
// Tokens of several sessions that travel together come within kGap of each other; a call waits for
// the next one so long, and for all of them kMost. Where sessions send their next tokens soon after
// they are answered, a token that came during a call waits for them, too: else it would have each
// second call for itself, for ever.
// Invariant: nothing waits longer than kMost. Threading: single strand. Cost: O(1). Source: own.
#pragma once

#include "swarm/base/units.hpp"

#include <cstdint>
#include <optional>

namespace stacking::sessions {

class TokenGather {
 public:
    static constexpr swarm::Duration kGap = std::chrono::microseconds(500);
    static constexpr swarm::Duration kMost = std::chrono::milliseconds(3);
    /// Calls wait only where another session's token came so lately.
    static constexpr swarm::Duration kTogether = std::chrono::seconds(1);

    /// Time of a hop's last answer, until its next rows come.
    using Answered = std::optional<swarm::TimePoint>;

    /// Takes a token. `first`: none waits for a call.
    void came(std::uint64_t session, bool first, Answered& hop, swarm::TimePoint now);

    /// Takes the answer to a token.
    void answered(Answered& hop, swarm::TimePoint now);
    /// Takes the end of a call, after the answers that it gave.
    void ended(swarm::Duration call, swarm::TimePoint now);
    /// Waits for no more rows of the hop.
    void forget(Answered& hop);

    /// Whether another session's token came lately.
    [[nodiscard]] bool is_shared() const;
    /// The time from which nothing more is waited for.
    [[nodiscard]] swarm::TimePoint until() const;

 private:
    /// Returns are waited for twice their mean time, if that is at most this part of the last call.
    static constexpr double kReturnPart = 0.25;
    /// Weights of a return in the mean, by whether it was quicker or slower than that: on a machine
    /// that also runs the client, returns are slow while the device computes.
    static constexpr double kQuickWeight = 0.5;
    static constexpr double kSlowWeight = 0.02;

    std::optional<std::uint64_t> last_of_{};       // the session whose token came last
    swarm::TimePoint last_at_{};                   // when it came
    std::optional<swarm::TimePoint> before_at_{};  // when one of another session came last
    swarm::TimePoint since_{};                     // since then tokens wait for a call
    double return_s_ = 1;                          // mean time from an answer to the next token
    std::uint32_t unreturned_ = 0;                 // hops with an answer and no next token
    swarm::TimePoint returns_until_{};             // they are waited for until then
};

}  // namespace stacking::sessions
