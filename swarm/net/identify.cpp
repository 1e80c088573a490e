// identify_peer() of host.hpp makes a TLS handshake and ends before the Hello, on a loop of its
// own.
#include "swarm/net/as_tuple.hpp"
#include "swarm/net/co_try.hpp"
#include "swarm/net/host.hpp"
#include "swarm/net/link.hpp"
#include "swarm/net/resolve.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include <utility>

namespace swarm::net {
namespace {

asio::awaitable<Result<PeerId>> identify(TlsStream& stream, std::string address, TimePoint due) {
    SWARM_CO_TRY(const auto endpoints, co_await resolve(address, due));
    boost::system::error_code error;
    for (const tcp::endpoint& endpoint : endpoints) {
        stream.close();
        std::tie(error) = co_await stream.socket().async_connect(endpoint, kAsTuple);
        if (!error) {
            break;
        }
    }
    if (error) {
        co_return Error{
            ErrorCode::Unreachable,
            Reaction::Retry,
            "cannot connect to " + address + ": " + error.message()};
    }
    SWARM_CO_TRY(co_await stream.handshake());
    co_return peer_of_session(stream.session());
}

}  // namespace

Result<PeerId> identify_peer(const std::string& address, const Identity& self, Duration timeout) {
    asio::io_context io(1);
    const TlsContext tls(self);
    TlsStream stream(tcp::socket(io), tls, Side::Client);
    Result<PeerId> peer =
        Error{ErrorCode::Unreachable, Reaction::Retry, "no answer from " + address + " in time"};
    const auto keep = [&](const std::exception_ptr& bug, Result<PeerId> found) {
        if (bug) {  // expected trouble would have come as a Result
            std::rethrow_exception(bug);
        }
        peer = std::move(found);
    };
    asio::co_spawn(io, identify(stream, address, clock_now() + timeout), keep);
    io.run_for(timeout);
    return peer;
}

}  // namespace swarm::net
