#include "tests/unit/net/bad_peer.hpp"

#include <array>
#include <cerrno>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

namespace swarm::test {

BadPeer::BadPeer(std::uint16_t port) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    const timeval patience{10, 0};
    ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ::connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address);
}

BadPeer::~BadPeer() {
    ::close(socket_);
}

void BadPeer::say(std::string_view text) const {
    ::send(socket_, text.data(), text.size(), MSG_NOSIGNAL);
}

bool BadPeer::start_tls(int version) {
    session_ = context_.new_session(net::Side::Client);
    SSL_set_min_proto_version(session_.get(), version);
    SSL_set_max_proto_version(session_.get(), version);
    SSL_set_fd(session_.get(), socket_);
    const bool done = SSL_do_handshake(session_.get()) == 1;
    ERR_clear_error();
    return done;
}

void BadPeer::say_under_tls(std::span<const std::byte> bytes) {
    SSL_write(session_.get(), bytes.data(), static_cast<int>(bytes.size()));
    ERR_clear_error();
}

void BadPeer::say_hello(const protocol::Hello& hello) {
    const std::vector<std::byte> control = protocol::encode_hello(hello);
    protocol::FrameHeader header;
    header.kind = protocol::kHelloKind;
    header.control_bytes = static_cast<std::uint32_t>(control.size());
    say_under_tls(protocol::encode_header(header));
    say_under_tls(control);
}

protocol::Hello BadPeer::good_hello(protocol::Lane lane, std::string_view swarm_key) {
    protocol::Hello hello;
    hello.protocol_version = protocol::kProtocolVersion;
    hello.lane = static_cast<std::uint32_t>(lane);
    hello.incarnation = {7};
    const net::SessionSecret secret = net::exporter_secret(*session_);
    hello.proof = net::prove_swarm_key(swarm_key, secret, net::Side::Client);
    return hello;
}

bool BadPeer::hears_hello() {
    protocol::HeaderBytes bytes{};
    const int count = SSL_read(session_.get(), bytes.data(), static_cast<int>(bytes.size()));
    ERR_clear_error();
    return count == static_cast<int>(bytes.size());
}

bool BadPeer::is_hung_up_on() const {
    std::array<char, 4096> heard{};
    for (;;) {
        const ssize_t count = ::recv(socket_, heard.data(), heard.size(), 0);
        if (count <= 0) {
            return count == 0 || errno == ECONNRESET;  // else the socket's timeout has passed
        }
    }
}

std::vector<std::byte> frame_of(const protocol::FrameHeader& header, std::size_t control_bytes) {
    const protocol::HeaderBytes bytes = protocol::encode_header(header);
    std::vector<std::byte> frame(bytes.begin(), bytes.end());
    frame.resize(frame.size() + control_bytes);
    return frame;
}

}  // namespace swarm::test
