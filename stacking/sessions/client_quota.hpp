// Which session ends at a server when another client asks for room that is not there. While there
// is room a client may have all of it, so one user's long text, or many texts, fit a small server.
// When there is none, whoever holds more than the asker would then hold gives way: first networks
// are compared, then the clients of one network. So of n clients that ask, none keeps more than
// 1/n of the room.
// Invariant: the only session of a client that works, and is alone in its network, never ends for
// another client.
// Threading: any. Units: positions, or hops: the caller's choice. Cost: O(holdings log networks).
#pragma once

#include "swarm/base/ids.hpp"
#include "swarm/base/units.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace stacking::sessions {

/// Time without rows and without work after which a session's room goes to whoever asks for it. A
/// member of an ensemble that waits for the slowest one, and a client that reads a long prompt,
/// are heard more often.
inline constexpr swarm::Duration kIdleSessionKept = std::chrono::seconds(30);

/// The same for a session that has no rows yet: a client sends them when the last hop has opened.
inline constexpr swarm::Duration kEmptySessionKept = std::chrono::seconds(2);

/// Time for which the hops of a client without a link to this server are kept. A client dials again
/// after 0.1 s to 5 s (SessionRouter's rests), and then goes on with its caches.
inline constexpr swarm::Duration kClientGrace = std::chrono::seconds(6);

/// A session's hop that has room.
struct Holding {
    swarm::PeerId client;
    std::uint64_t network = 0;  // the client's
    std::uint64_t session = 0;
    std::uint64_t room = 0;
    swarm::TimePoint since{};       // its beginning
    swarm::TimePoint idle_since{};  // the last sign of work; kNever while it has work
    bool is_empty = false;          // no row has come yet
    bool is_gone = false;           // the client has no link here
};

struct Asker {
    swarm::PeerId client;
    std::uint64_t network = 0;
    std::uint64_t session = 0;  // its holdings do not give way to itself
    std::uint64_t room = 0;     // the room that it asks for
};

/// Returns the index of the holding that ends; nothing when the asker must wait. Holdings of
/// clients that are gone come first, then idle ones, the longest idle first, then the newest one of
/// the client that holds most.
std::optional<std::size_t> choose_to_end(
    std::span<const Holding> holdings, const Asker& asker, swarm::TimePoint now
);

}  // namespace stacking::sessions
