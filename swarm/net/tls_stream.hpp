// One TCP connection under TLS that moves its bytes in large pieces. asio::ssl::stream makes a
// system call for every record of 16 KiB; here OpenSSL works on memory, and the socket sends or
// fills up to kTlsBufferBytes at a time, straight from and into that memory.
// Invariants: one reader and one writer coroutine at a time. Only the writer sends: what reading
// produces (the answer to a key update) leaves before the next bytes of ours, as RFC 8446 asks.
// Every socket is TCP_NODELAY, and a dead one is an error, no SIGPIPE (Asio sends MSG_NOSIGNAL).
// Threading: single strand. Errors: ConnectionLost (Retry); Unauthorised (Reject) in handshake().
// Memory: two buffers of kTlsBufferBytes; what is never touched is never resident.
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

inline constexpr std::size_t kTlsBufferBytes = 256U << 10;

class TlsStream {
 public:
    TlsStream(tcp::socket socket, const TlsContext& context, Side side);

    [[nodiscard]] tcp::socket& socket() { return socket_; }

    [[nodiscard]] SSL& session() { return *session_; }

    asio::awaitable<Result<>> handshake();

    /// Waits for at least one byte, then takes what is there, at most all of `into` (not empty).
    asio::awaitable<Result<std::size_t>> read_some(std::span<std::byte> into);

    /// Takes at least one byte of `from` (not empty); waits only while the buffer is full. The same
    /// bytes, less those taken, must be offered next.
    asio::awaitable<Result<std::size_t>> write_some(std::span<const std::byte> from);
    /// Sends some of what write_some() took; false when nothing is left to be sent.
    asio::awaitable<Result<bool>> flush_some();

    /// Ends our direction after the bytes written so far: flush afterwards, then shut_down_send().
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
