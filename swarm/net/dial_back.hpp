// Whether others can dial this machine, found out by asking one of them. The asker listens, and
// says Hello to a host with its port in it; the host dials that port at the address from which the
// connection came, and answers with the outcome. No role hears of it, so every host answers: a
// coordinator, a directory, a peer.
// Invariants: a host dials nothing but the address of the asker, so nobody can aim it at a third
// machine; at most kDialBacksMax such dials are under way in one host, and more askers hear Busy.
// Threading: dial_back() single strand; ask_dial_back() blocks, on a loop of its own.
// Source: the idea of AutoNAT of libp2p; the answer is one dial and no vote of several hosts.
#pragma once

#include "swarm/base/result.hpp"
#include "swarm/base/units.hpp"
#include "swarm/net/address.hpp"
#include "swarm/net/identity.hpp"
#include "swarm/net/link.hpp"
#include "swarm/protocol/message.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace swarm::net {

inline constexpr std::size_t kDialBacksMax = 4;

/// Time limit of one dial. It ends well before the asker's connection, which has the time limit of
/// every connection that is made (HostOptions::dial_timeout).
inline constexpr auto kDialBackWithin = std::chrono::milliseconds(2000);

/// Dials the endpoint and sees whether this peer answers there.
boost::asio::awaitable<protocol::DialBack> dial_back(
    std::shared_ptr<const Link::Terms> terms, boost::asio::ip::tcp::endpoint there, PeerId peer
);

struct DialBackQuestion {
    std::string host;                               // address of the host that is asked, or several
    std::string swarm_key{};                        // empty for an open run
    std::shared_ptr<FirstContact> first_contact{};  // judges who answers there; null: anybody may
    Address listen{};  // where this machine waits for the dial; * and port 0 as in HostOptions
    std::uint16_t port = 0;  // the port that others dial, where a router forwards one; 0: the same
};

struct DialBackAnswer {
    protocol::DialBack outcome = protocol::DialBack::Unasked;
    std::string seen_from;   // IP address of this machine as the host sees it
    std::uint16_t port = 0;  // that was dialled
};

/// Errors: Usage when this machine cannot listen there; Unreachable, Unauthorised, Mismatch and
/// ConnectionLost when the host does not answer.
Result<DialBackAnswer> ask_dial_back(
    const DialBackQuestion& question, const Identity& self, Duration timeout
);

}  // namespace swarm::net
