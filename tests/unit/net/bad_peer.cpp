#include "tests/unit/net/bad_peer.hpp"

#include <arpa/inet.h>
#include <array>
#include <cerrno>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

namespace swarm::test {

namespace {

constexpr int kPatienceMs = 10'000;

int connect_to(in_addr_t host, std::uint16_t port) {
    const int made = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const timeval patience{10, 0};
    ::setsockopt(made, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    ::setsockopt(made, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = host;
    ::connect(made, reinterpret_cast<const sockaddr*>(&address), sizeof address);
    return made;
}

in_addr_t loopback() {
    return htonl(INADDR_LOOPBACK);
}

/// A packet is on its way for so long.
void travel(std::chrono::milliseconds time) {
    ::poll(nullptr, 0, static_cast<int>(time.count()));
}

}  // namespace

BadPeer::BadPeer(std::uint16_t port)
    : socket_(connect_to(loopback(), port)),
      own_(net::Identity::make_ephemeral()),
      identity_(*own_) {}

BadPeer::BadPeer(const std::string& address, std::uint16_t port)
    : socket_(connect_to(::inet_addr(address.c_str()), port)),
      own_(net::Identity::make_ephemeral()),
      identity_(*own_) {}

BadPeer::BadPeer(std::uint16_t port, const net::Identity& identity)
    : socket_(connect_to(loopback(), port)), identity_(identity) {}

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

// The server sees the ClientHello with the end of TCP's own handshake, and the client's next flight
// one round trip after its answer.
bool BadPeer::start_tls_from_afar(std::chrono::milliseconds round_trip) {
    session_ = context_.new_session(net::Side::Client);
    SSL_set_fd(session_.get(), socket_);
    const int flags = ::fcntl(socket_, F_GETFL);
    ::fcntl(socket_, F_SETFL, flags | O_NONBLOCK);
    int done = SSL_do_handshake(session_.get());
    while (done != 1 && SSL_get_error(session_.get(), done) == SSL_ERROR_WANT_READ) {
        pollfd readable{socket_, POLLIN, 0};
        if (::poll(&readable, 1, kPatienceMs) <= 0) {
            break;
        }
        travel(round_trip);
        done = SSL_do_handshake(session_.get());
    }
    ::fcntl(socket_, F_SETFL, flags);
    ERR_clear_error();
    return done == 1;
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

bool BadPeer::hears_hello_from_afar(std::chrono::milliseconds round_trip) {
    protocol::HeaderBytes bytes{};
    if (!read_exactly(bytes)) {
        return false;
    }
    const auto header = protocol::decode_header(bytes, protocol::Lane::Control);
    std::vector<std::byte> rest(header ? header->control_bytes : 0);
    const bool heard = header.has_value() && read_exactly(rest);
    travel(round_trip);
    return heard;
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
