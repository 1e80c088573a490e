#include "swarm/net/tls_stream.hpp"

#include "swarm/base/check.hpp"
#include "swarm/net/as_tuple.hpp"
#include "swarm/net/co_try.hpp"

#include <boost/asio/buffer.hpp>

#include <string>
#include <utility>

namespace swarm::net {
namespace {

using boost::system::error_code;

/// Bytes under one key. AES-GCM allows 2^24.5 records of 16 KiB (RFC 8446, 5.5); this is about a
/// third of that.
constexpr std::uint64_t kBytesPerKey = 1ULL << 37;

Error lost(const char* detail) {
    return {ErrorCode::ConnectionLost, Reaction::Retry, detail};
}

/// Says what went wrong in a handshake, because people find a wrong key or program by it.
Error handshake_error() {
    return {ErrorCode::Unauthorised, Reaction::Reject, "TLS handshake: " + openssl_complaint()};
}

Error session_error(int kind) {
    const bool orderly = kind == SSL_ERROR_ZERO_RETURN;
    ERR_clear_error();
    return lost(orderly ? "the peer closed the connection" : "the peer broke the TLS session");
}

}  // namespace

TlsStream::TlsStream(tcp::socket socket, const TlsContext& context, Side side)
    : TlsStream(std::move(socket), context.new_session(side), kTlsBufferBytes) {}

TlsStream::TlsStream(tcp::socket socket, SslPtr session, std::size_t buffer_bytes)
    : socket_(std::move(socket)), session_(std::move(session)) {
    BIO* inner = nullptr;
    BIO* outer = nullptr;
    SWARM_ASSERT(BIO_new_bio_pair(&inner, buffer_bytes, &outer, buffer_bytes) == 1);
    SSL_set_bio(session_.get(), inner, inner);
    wire_.reset(outer);
}

asio::awaitable<Result<>> TlsStream::handshake() {
    error_code ignored;  // a socket that cannot take the option fails below
    socket_.set_option(tcp::no_delay(true), ignored);
    for (;;) {
        ERR_clear_error();
        const int done = SSL_do_handshake(session_.get());
        const int kind = SSL_get_error(session_.get(), done);
        while (BIO_ctrl_pending(wire_.get()) > 0) {  // may be an alert
            SWARM_CO_TRY(co_await send_some());
        }
        if (done == 1) {
            co_return Result<>();
        }
        if (kind != SSL_ERROR_WANT_READ) {
            co_return handshake_error();
        }
        SWARM_CO_TRY(co_await receive_some());
    }
}

asio::awaitable<Result<std::size_t>> TlsStream::read_some(std::span<std::byte> into) {
    for (;;) {
        ERR_clear_error();
        std::size_t total = 0;
        std::size_t count = 0;
        while (total < into.size() &&
               SSL_read_ex(session_.get(), &into[total], into.size() - total, &count) == 1) {
            total += count;
        }
        if (total > 0) {
            co_return total;  // an error after these bytes shows again at the next call
        }
        const int kind = SSL_get_error(session_.get(), 0);
        if (kind != SSL_ERROR_WANT_READ) {
            co_return session_error(kind);
        }
        SWARM_CO_TRY(co_await receive_some());
    }
}

asio::awaitable<Result<std::size_t>> TlsStream::write_some(std::span<const std::byte> from) {
    for (;;) {
        ERR_clear_error();
        std::size_t total = 0;
        std::size_t count = 0;
        while (total < from.size() &&
               SSL_write_ex(session_.get(), &from[total], from.size() - total, &count) == 1) {
            total += count;
        }
        bytes_under_key_ += total;
        if (total == from.size() && bytes_under_key_ > kBytesPerKey) {
            SSL_key_update(session_.get(), SSL_KEY_UPDATE_NOT_REQUESTED);
            bytes_under_key_ = 0;
        }
        if (total > 0) {
            co_return total;
        }
        const int kind = SSL_get_error(session_.get(), 0);
        if (kind != SSL_ERROR_WANT_WRITE) {
            co_return session_error(kind);
        }
        SWARM_CO_TRY(co_await send_some());
    }
}

asio::awaitable<Result<bool>> TlsStream::flush_some() {
    if (BIO_ctrl_pending(wire_.get()) == 0) {
        co_return false;
    }
    SWARM_CO_TRY(co_await send_some());
    co_return BIO_ctrl_pending(wire_.get()) > 0;
}

void TlsStream::say_goodbye() {
    SSL_shutdown(session_.get());
    ERR_clear_error();
}

void TlsStream::shut_down_send() {
    error_code ignored;
    socket_.shutdown(tcp::socket::shutdown_send, ignored);
}

void TlsStream::close() {
    error_code ignored;
    socket_.close(ignored);
}

asio::awaitable<Result<>> TlsStream::send_some() {
    char* bytes = nullptr;
    const int size = BIO_nread0(wire_.get(), &bytes);
    SWARM_ASSERT(size > 0);
    const auto buffer = asio::buffer(bytes, static_cast<std::size_t>(size));
    const auto [error, count] = co_await socket_.async_write_some(buffer, kAsTuple);
    if (error) {
        co_return lost("the connection broke while sending");
    }
    SWARM_ASSERT(
        BIO_nread(wire_.get(), &bytes, static_cast<int>(count)) == static_cast<int>(count)
    );
    co_return Result<>();
}

asio::awaitable<Result<>> TlsStream::receive_some() {
    char* bytes = nullptr;
    const int size = BIO_nwrite0(wire_.get(), &bytes);
    if (size <= 0) {  // OpenSSL has a full buffer and wants more, but no record is that large
        co_return lost("the peer broke the TLS session");
    }
    const auto buffer = asio::buffer(bytes, static_cast<std::size_t>(size));
    const auto [error, count] = co_await socket_.async_read_some(buffer, kAsTuple);
    if (error) {
        co_return lost("the connection ended");
    }
    SWARM_ASSERT(
        BIO_nwrite(wire_.get(), &bytes, static_cast<int>(count)) == static_cast<int>(count)
    );
    co_return Result<>();
}

}  // namespace swarm::net
