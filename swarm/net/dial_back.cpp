#include "swarm/net/dial_back.hpp"

#include "swarm/net/as_tuple.hpp"
#include "swarm/net/co_try.hpp"
#include "swarm/net/connect.hpp"
#include "swarm/net/link.hpp"
#include "swarm/net/listen.hpp"
#include "swarm/net/resolve.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include <exception>
#include <memory>
#include <utility>

namespace swarm::net {
namespace {

/// Answers each dial with a handshake, which proves whose machine this is, and hangs up. A dialler
/// that says nothing keeps its own connection alone.
asio::awaitable<void> prove_identity(std::shared_ptr<TlsStream> stream) {
    const Result<> proven = co_await stream->handshake();
    static_cast<void>(proven);  // the dialler tells what it met
}

asio::awaitable<void> wait_to_be_dialed(
    std::shared_ptr<tcp::acceptor> acceptor, std::shared_ptr<const Link::Terms> terms
) {
    for (;;) {
        auto [error, socket] = co_await acceptor->async_accept(kAsTuple);
        if (error && error != asio::error::connection_aborted) {
            co_return;
        }
        if (!error) {
            auto stream = std::make_shared<TlsStream>(std::move(socket), terms->tls, Side::Server);
            asio::co_spawn(acceptor->get_executor(), prove_identity(stream), asio::detached);
        }
    }
}

asio::awaitable<Result<Link::DialBack>> ask(
    std::string host,
    std::shared_ptr<FirstContact> first_contact,
    std::shared_ptr<const Link::Terms> terms,
    std::uint16_t port,
    TimePoint due
) {
    SWARM_CO_TRY(auto endpoints, co_await resolve(host, due));
    auto socket = co_await connect_to_any(std::move(endpoints), {}, due);
    if (!socket) {
        co_return socket.error();
    }
    const auto link = std::make_shared<Link>(std::move(*socket), terms, Side::Client);
    link->set_deadline(due - clock_now());
    Credentials met;
    const Link::Judge judge = [&](const Credentials& shown) {
        met = shown;
        return first_contact ? first_contact->judge(host, shown) : Result<>();
    };
    auto answer = co_await link->ask_dial_back(port, judge);
    link->close_now();
    if (answer && first_contact) {
        first_contact->keep(host, met);
    }
    co_return answer;
}

}  // namespace

asio::awaitable<protocol::DialBack> dial_back(
    std::shared_ptr<const Link::Terms> terms, tcp::endpoint there, PeerId peer
) {
    const TimePoint due = clock_now() + kDialBackWithin;
    const auto missed = [due] {
        return clock_now() < due ? protocol::DialBack::Refused : protocol::DialBack::Silent;
    };
    const Endpoints only{there};
    auto socket = co_await connect_to_any(only, {}, due);
    if (!socket) {
        co_return missed();
    }
    const auto stream = std::make_shared<TlsStream>(std::move(*socket), terms->tls, Side::Client);
    asio::steady_timer limit(co_await asio::this_coro::executor);
    limit.expires_at(std::chrono::steady_clock::time_point(due.time_since_epoch()));
    limit.async_wait([stream](const boost::system::error_code& cancelled) {
        if (!cancelled) {
            stream->close();  // the handshake then ends with an error
        }
    });
    const Result<> shaken = co_await stream->handshake();
    const Result<PeerId> met = shaken ? peer_of_session(stream->session()) : shaken.error();
    stream->close();
    if (!met) {
        co_return clock_now() < due ? protocol::DialBack::AnotherPeer : protocol::DialBack::Silent;
    }
    co_return *met == peer ? protocol::DialBack::Reached : protocol::DialBack::AnotherPeer;
}

Result<DialBackAnswer> ask_dial_back(
    const DialBackQuestion& question, const Identity& self, Duration timeout
) {
    asio::io_context io(1);
    SWARM_TRY(auto listening, listen_at(io.get_executor(), question.listen));
    const auto acceptor = std::make_shared<tcp::acceptor>(std::move(listening));
    const std::uint16_t port =
        question.port != 0 ? question.port : acceptor->local_endpoint().port();
    const auto terms = std::make_shared<const Link::Terms>(Link::Terms{
        TlsContext(self), self.peer(), random_incarnation(), question.swarm_key, timeout});
    Result<Link::DialBack> answer =
        Error{ErrorCode::Unreachable, Reaction::Retry, "no answer from " + question.host};
    const auto keep = [&](const std::exception_ptr& bug, Result<Link::DialBack> heard) {
        if (bug) {  // expected trouble would have come as a Result
            std::rethrow_exception(bug);
        }
        answer = std::move(heard);
        io.stop();
    };
    asio::co_spawn(io, wait_to_be_dialed(acceptor, terms), asio::detached);
    auto asking = ask(question.host, question.first_contact, terms, port, clock_now() + timeout);
    asio::co_spawn(io, std::move(asking), keep);
    io.run_for(timeout);
    if (!answer) {
        return answer.error();
    }
    return DialBackAnswer{answer->outcome, answer->seen_from, port};
}

}  // namespace swarm::net
