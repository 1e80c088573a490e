#include "tests/unit/net/bad_peer.hpp"

#include <array>
#include <cerrno>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

namespace swarm::test {

namespace {

int connect_to(std::uint16_t port) {
    const int made = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const timeval patience{10, 0};
    ::setsockopt(made, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    ::setsockopt(made, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ::connect(made, reinterpret_cast<const sockaddr*>(&address), sizeof address);
    return made;
}

}  // namespace

BadPeer::BadPeer(std::uint16_t port)
    : socket_(connect_to(port)), own_(net::Identity::make_ephemeral()), identity_(*own_) {}

BadPeer::BadPeer(std::uint16_t port, const net::Identity& identity)
    : socket_(connect_to(port)), identity_(identity) {}

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

void BadPeer::say_message(const protocol::Message& message) {
    const std::vector<std::byte> control = protocol::encode_control(message);
    protocol::FrameHeader header;
    header.kind = static_cast<std::uint16_t>(message.body.index());
    header.control_bytes = static_cast<std::uint32_t>(control.size());
    const protocol::HeaderBytes head = protocol::encode_header(header);
    std::vector<std::byte> frame(head.begin(), head.end());
    frame.insert(frame.end(), control.begin(), control.end());
    say_under_tls(frame);
}

bool BadPeer::read_exactly(std::span<std::byte> into) {
    while (!into.empty()) {
        const int count = SSL_read(session_.get(), into.data(), static_cast<int>(into.size()));
        ERR_clear_error();
        if (count <= 0) {
            return false;
        }
        into = into.subspan(static_cast<std::size_t>(count));
    }
    return true;
}

std::optional<protocol::Message> BadPeer::hears_message(std::chrono::milliseconds patience) {
    pollfd readable{socket_, POLLIN, 0};
    if (SSL_pending(session_.get()) == 0 &&
        ::poll(&readable, 1, static_cast<int>(patience.count())) <= 0) {
        return std::nullopt;
    }
    protocol::HeaderBytes bytes{};
    if (!read_exactly(bytes)) {
        return std::nullopt;
    }
    const auto lane = protocol::Lane::Control;
    auto header = protocol::decode_header(bytes, lane);
    if (!header) {
        header = protocol::decode_header(bytes, protocol::Lane::Bulk);
    }
    std::vector<std::byte> body(
        header->control_bytes + header->envelope_bytes + header->tensor_bytes
    );
    if (!read_exactly(body)) {
        return std::nullopt;
    }
    if (header->kind == protocol::kHelloKind) {
        return hears_message(patience);
    }
    auto message =
        protocol::decode_control(header->kind, std::span(body).first(header->control_bytes));
    return message ? std::optional(std::move(*message)) : std::nullopt;
}

bool BadPeer::is_ended() const {
    pollfd state{socket_, POLLRDHUP, 0};
    return ::poll(&state, 1, 0) > 0 && (state.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
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
