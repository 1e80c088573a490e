// One TCP connection under TLS that moves its bytes in large pieces. asio::ssl::stream makes a
// system call for every record of 16 KiB. Here OpenSSL works on memory, and the socket sends or
// fills up to kTlsBufferBytes at a time, straight from that memory or into it.
// Invariants: one reader and one writer coroutine at a time. Only the writer sends: bytes that
// reading produces (the answer to a key update) leave before the writer's next bytes, as RFC 8446
// asks. Every socket is TCP_NODELAY; a dead socket is an error and no SIGPIPE (Asio sends
// MSG_NOSIGNAL).
// Threading: single strand. Errors: ConnectionLost (Retry); Unauthorised (Reject) in handshake().
// Memory: two buffers, kTlsBufferBytes between peers; untouched pages are never resident.
#pragma once

#include "swarm/base/result.hpp"
#include "swarm/net/tls.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace swarm::net {

namespace asio = boost::asio;
using asio::ip::tcp;

/// Chosen by measurement on loopback of an Intel machine, as speed over plain Asio TLS: 63 KiB
/// 1.25, 64 KiB 0.75, 124 KiB 1.4, 128 KiB 0.8, 256 KiB 0.87. A TCP segment holds 65,483 bytes
/// there, so a multiple of 64 KiB ends in a tiny one; that this is the reason was not traced, and
/// it does not explain why 80 and 144 KiB are slow, too. Cards and AMD were not measured.
inline constexpr std::size_t kTlsBufferBytes = 124U << 10;

class TlsStream {
 public:
    TlsStream(tcp::socket socket, const TlsContext& context, Side side);
    /// Works on a session that others have set up (swarm/http). `buffer_bytes` is that of each way,
    /// and has room for a record of TLS at least.
    TlsStream(tcp::socket socket, SslPtr session, std::size_t buffer_bytes);

    [[nodiscard]] tcp::socket& socket() { return socket_; }

    [[nodiscard]] SSL& session() { return *session_; }

    asio::awaitable<Result<>> handshake();

    /// Waits for at least one byte and takes the bytes that are there, at most as many as `into`
    /// can hold. Requires that `into` is not empty.
    asio::awaitable<Result<std::size_t>> read_some(std::span<std::byte> into);

    /// Takes at least one byte of `from`, and waits only while the buffer is full. Requires that
    /// `from` is not empty, and that the next call offers the rest of the same bytes.
    asio::awaitable<Result<std::size_t>> write_some(std::span<const std::byte> from);
    /// Sends some of the bytes that write_some() took; returns false when none is left to be sent.
    asio::awaitable<Result<bool>> flush_some();

    /// Ends this side's direction after the bytes written so far. The caller then flushes and calls
    /// shut_down_send().
    void say_goodbye();
    void shut_down_send();
    void close();

 private:
    asio::awaitable<Result<>> send_some();
    asio::awaitable<Result<>> receive_some();

    tcp::socket socket_;
    SslPtr session_;
    BioPtr wire_;  // the socket's end of the buffers
    std::uint64_t bytes_under_key_ = 0;
};

}  // namespace swarm::net
