// A stranger with a blocking socket that says things no good peer says. It lives on a thread of its
// own, because the host runs on the test's thread.
#pragma once

#include "swarm/net/tls.hpp"
#include "swarm/protocol/frame.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace swarm::test {

class BadPeer {
 public:
    explicit BadPeer(std::uint16_t port);
    /// A peer that connects to another machine's IPv4 address.
    BadPeer(const std::string& address, std::uint16_t port);
    /// A peer with the identity of another one, which outlives it: the second lane of a peer.
    BadPeer(std::uint16_t port, const net::Identity& identity);
    BadPeer(const BadPeer&) = delete;
    BadPeer& operator=(const BadPeer&) = delete;
    ~BadPeer();

    void say(std::string_view text) const;

    /// Does the handshake; returns false when the host refuses.
    bool start_tls(int version = TLS1_3_VERSION);
    /// The same, but what it sends and hears takes so long to the host and back.
    bool start_tls_from_afar(std::chrono::milliseconds round_trip);
    /// Sends bytes under TLS, after start_tls().
    void say_under_tls(std::span<const std::byte> bytes);
    void say_hello(const protocol::Hello& hello);
    /// Returns a valid Hello with the proof of this key.
    protocol::Hello good_hello(protocol::Lane lane, std::string_view swarm_key = "");
    /// Reads the host's own Hello; returns false when the host hangs up instead.
    bool hears_hello();
    /// The same for the whole Hello, which takes so long to the host and back.
    bool hears_hello_from_afar(std::chrono::milliseconds round_trip);

    /// Sends a message without a tensor, after say_hello().
    void say_message(const protocol::Message& message);
    /// Reads the next message and drops its tensor. Returns nothing when none comes within the
    /// patience, or when the host has hung up.
    std::optional<protocol::Message> hears_message(std::chrono::milliseconds patience);

    [[nodiscard]] const net::Identity& identity() const { return identity_; }

    /// True when the host has ended the connection; waits for nothing.
    [[nodiscard]] bool is_ended() const;

    /// Reads until the host ends the connection; returns false when it does not within 10 s.
    bool is_hung_up_on() const;

 private:
    bool read_exactly(std::span<std::byte> into);

    int socket_;
    std::optional<net::Identity> own_;
    const net::Identity& identity_;
    net::TlsContext context_{identity_};
    net::SslPtr session_;
};

/// Returns the header and a control part of zeros.
std::vector<std::byte> frame_of(const protocol::FrameHeader& header, std::size_t control_bytes);

}  // namespace swarm::test
