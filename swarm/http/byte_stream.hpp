// The bytes of one connection that came in, with TLS or without.
// Invariants: one reader and one writer coroutine at a time. The socket is TCP_NODELAY, so a piece
// of an answer leaves at once, and a client whose machine has vanished is noticed by keep-alive
// probes within a minute.
// Threading: single strand. Errors: ConnectionLost (Retry); Unauthorised (Reject) in open().
// Memory: kTlsRoom twice under TLS, when it is used.
#pragma once

#include "swarm/base/result.hpp"
#include "swarm/net/openssl_ptr.hpp"
#include "swarm/net/tls_stream.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>

namespace swarm::http {

namespace asio = boost::asio;
using asio::ip::tcp;

class ByteStream {
 public:
    /// Room for two records of TLS, which have 16 KiB at most.
    static constexpr std::size_t kTlsRoom = 40U << 10;

    /// `context` is null for a connection without TLS.
    ByteStream(tcp::socket socket, SSL_CTX* context);

    [[nodiscard]] tcp::socket& socket();

    /// Does the handshake of TLS, if there is one.
    asio::awaitable<Result<>> open();
    /// Waits for at least one byte. Requires that `into` is not empty.
    asio::awaitable<Result<std::size_t>> read_some(std::span<std::byte> into);
    /// Hands at least one byte to the system. Requires that `from` is not empty.
    asio::awaitable<Result<std::size_t>> write_some(std::string_view from);

    /// Tells the client that nothing more comes.
    asio::awaitable<void> finish_sending();
    /// Ends the connection; reads and writes under way fail.
    void close();
    /// Sends what the system takes at once, without TLS only: a farewell for whom there is no room.
    void send_at_once(std::string_view text);

 private:
    tcp::socket plain_;  // open when there is no TLS
    std::unique_ptr<net::TlsStream> tls_;
};

}  // namespace swarm::http
