#include "swarm/http/byte_stream.hpp"

#include "swarm/base/check.hpp"
#include "swarm/net/as_tuple.hpp"
#include "swarm/net/co_try.hpp"

#include <boost/asio/buffer.hpp>

#include <netinet/tcp.h>
#include <sys/socket.h>
#include <utility>

namespace swarm::http {
namespace {

using boost::system::error_code;

Error lost(const char* detail) {
    return {ErrorCode::ConnectionLost, Reaction::Retry, detail};
}

/// After half a minute of silence three probes, ten seconds apart. A socket that refuses an option
/// fails at its next use.
void set_options(tcp::socket& socket) {
    error_code ignored;
    socket.set_option(tcp::no_delay(true), ignored);
    socket.set_option(asio::socket_base::keep_alive(true), ignored);
    const auto set = [&](int name, int value) {
        ::setsockopt(socket.native_handle(), IPPROTO_TCP, name, &value, sizeof value);
    };
    set(TCP_KEEPIDLE, 30);
    set(TCP_KEEPINTVL, 10);
    set(TCP_KEEPCNT, 3);
}

net::SslPtr server_session(SSL_CTX* context) {
    net::SslPtr session(SSL_new(context));
    SWARM_ASSERT(session);
    SSL_set_accept_state(session.get());
    return session;
}

}  // namespace

ByteStream::ByteStream(tcp::socket socket, SSL_CTX* context) : plain_(std::move(socket)) {
    set_options(plain_);
    if (context != nullptr) {
        tls_ =
            std::make_unique<net::TlsStream>(std::move(plain_), server_session(context), kTlsRoom);
    }
}

asio::awaitable<Result<>> ByteStream::open() {
    if (tls_) {
        SWARM_CO_TRY(co_await tls_->handshake());
    }
    co_return Result<>();
}

asio::awaitable<Result<std::size_t>> ByteStream::read_some(std::span<std::byte> into) {
    if (tls_) {
        co_return co_await tls_->read_some(into);
    }
    const auto buffer = asio::buffer(into.data(), into.size());
    const auto [error, count] = co_await plain_.async_read_some(buffer, net::kAsTuple);
    if (error) {
        co_return lost("the connection ended");
    }
    co_return count;
}

asio::awaitable<Result<std::size_t>> ByteStream::write_some(std::string_view from) {
    if (!tls_) {
        const auto buffer = asio::buffer(from);
        const auto [error, count] = co_await plain_.async_write_some(buffer, net::kAsTuple);
        if (error) {
            co_return lost("the connection broke while sending");
        }
        co_return count;
    }
    const auto bytes = std::as_bytes(std::span(from));
    SWARM_CO_TRY(const std::size_t taken, co_await tls_->write_some(bytes));
    for (;;) {
        SWARM_CO_TRY(const bool more, co_await tls_->flush_some());
        if (!more) {
            co_return taken;
        }
    }
}

asio::awaitable<void> ByteStream::finish_sending() {
    if (tls_) {
        tls_->say_goodbye();
        for (;;) {
            const Result<bool> more = co_await tls_->flush_some();
            if (!more || !*more) {
                break;
            }
        }
    }
    error_code ignored;
    socket().shutdown(tcp::socket::shutdown_send, ignored);
}

void ByteStream::close() {
    error_code ignored;
    socket().close(ignored);
}

void ByteStream::send_at_once(std::string_view text) {
    if (!tls_) {
        const int flags = MSG_DONTWAIT | MSG_NOSIGNAL;
        static_cast<void>(::send(plain_.native_handle(), text.data(), text.size(), flags));
    }
}

tcp::socket& ByteStream::socket() {
    return tls_ ? tls_->socket() : plain_;
}

}  // namespace swarm::http
