// identify_peer() of host.hpp makes a TLS handshake and ends before the Hello, on a loop of its
// own.
#include "swarm/net/co_try.hpp"
#include "swarm/net/connect.hpp"
#include "swarm/net/host.hpp"
#include "swarm/net/link.hpp"
#include "swarm/net/resolve.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include <utility>

namespace swarm::net {
namespace {

asio::awaitable<Result<PeerId>> identify(
    const TlsContext& tls, std::string address, TimePoint due
) {
    SWARM_CO_TRY(auto endpoints, co_await resolve(address, due));
    auto socket = co_await connect_to_any(std::move(endpoints), {}, due);
    if (!socket) {
        co_return socket.error();
    }
    TlsStream stream(std::move(*socket), tls, Side::Client);
    SWARM_CO_TRY(co_await stream.handshake());
    co_return peer_of_session(stream.session());
}

}  // namespace

Result<PeerId> identify_peer(const std::string& address, const Identity& self, Duration timeout) {
    asio::io_context io(1);
    const TlsContext tls(self);
    Result<PeerId> peer =
        Error{ErrorCode::Unreachable, Reaction::Retry, "no answer from " + address + " in time"};
    const auto keep = [&](const std::exception_ptr& bug, Result<PeerId> found) {
        if (bug) {  // expected trouble would have come as a Result
            std::rethrow_exception(bug);
        }
        peer = std::move(found);
    };
    asio::co_spawn(io, identify(tls, address, clock_now() + timeout), keep);
    io.run_for(timeout);
    return peer;
}

}  // namespace swarm::net
