// Fuzzes a Link over a real socket, as either side, from its handshake on. The stranger at the
// other end speaks raw bytes, or TLS that was tampered with on the way, or good TLS with anything
// in it. No input may lead to a crash or to a wait after the end of input, and no stranger comes in
// without proof of the swarm key.
// Input: [plan u8][bytes]; the bits of the plan are below.
#include "swarm/net/link.hpp"
#include "tests/fuzz/link_plan.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <sys/socket.h>
#include <unistd.h>
#include <vector>

namespace {

namespace net = swarm::net;
namespace protocol = swarm::protocol;
using swarm::fuzz::LinkPlan;
using Bytes = std::vector<std::byte>;

constexpr const char* kSwarmKey = "only friends have it";
constexpr std::size_t kPiece = 64U << 10;
constexpr int kRoundsMax = 100'000;

constexpr std::size_t sixteen_bits(std::byte low, std::byte high) {
    return std::to_integer<std::size_t>(low) | (std::to_integer<std::size_t>(high) << 8U);
}

static_assert(sixteen_bits(std::byte{2}, std::byte{1}) == 258);

[[noreturn]] void found() {
    __builtin_trap();
}

const net::Identity& identity(net::Side side) {
    static const net::Identity client = net::Identity::make_ephemeral();
    static const net::Identity server = net::Identity::make_ephemeral();
    return side == net::Side::Client ? client : server;
}

const std::shared_ptr<const net::Link::Terms>& terms(net::Side side) {
    static const auto make = [](net::Side of) {
        return std::make_shared<const net::Link::Terms>(net::Link::Terms{
            net::TlsContext(identity(of)),
            identity(of).peer(),
            {5},
            kSwarmKey,
            std::chrono::hours(1)});
    };
    static const auto client = make(net::Side::Client);
    static const auto server = make(net::Side::Server);
    return side == net::Side::Client ? client : server;
}

net::Side other(net::Side side) {
    return side == net::Side::Client ? net::Side::Server : net::Side::Client;
}

/// The other end of the link's connection. It sends the bytes that the input tells, and never
/// waits.
class Stranger {
 public:
    Stranger(int socket, net::Side side, std::span<const std::byte> input)
        : socket_(socket),
          side_(side),
          plan_(std::to_integer<std::uint8_t>(input[0])),
          input_(input.subspan(1)),
          session_(terms(side)->tls.new_session(side)) {
        BIO* inner = nullptr;
        BIO* outer = nullptr;
        if (BIO_new_bio_pair(&inner, kPiece, &outer, kPiece) != 1) {
            found();
        }
        SSL_set_bio(session_.get(), inner, inner);
        wire_.reset(outer);
    }

    Stranger(const Stranger&) = delete;
    Stranger& operator=(const Stranger&) = delete;

    ~Stranger() { ::close(socket_); }

    /// Tells whether the stranger has proven the key.
    [[nodiscard]] bool may_enter() const { return greeted_; }

    /// Returns true when the stranger has said or heard something.
    bool act() {
        if (ended_) {
            return false;
        }
        return plan_.talk() == LinkPlan::Talk::Raw ? say_raw() : speak_tls();
    }

    void end() {
        if (!std::exchange(ended_, true)) {
            ::shutdown(socket_, SHUT_WR);
        }
    }

 private:
    bool say_raw() {
        say(input_);
        end();
        return true;
    }

    bool speak_tls() {
        const bool heard = hear();
        ERR_clear_error();
        if (!spoken_ && SSL_do_handshake(session_.get()) == 1) {
            spoken_ = true;
            if (plan_.has_good_hello()) {
                greet();
            }
            if (plan_.talk() == LinkPlan::Talk::UnderTls) {
                put(input_);
            }
        }
        std::array<std::byte, 256> ignored{};
        std::size_t count = 0;
        while (SSL_read_ex(session_.get(), ignored.data(), ignored.size(), &count) == 1) {
        }
        ERR_clear_error();
        return send_pending() || heard;
    }

    bool hear() {
        char* room = nullptr;
        const int size = BIO_nwrite0(wire_.get(), &room);
        if (size <= 0) {
            return false;
        }
        const ssize_t count = ::recv(socket_, room, static_cast<std::size_t>(size), MSG_DONTWAIT);
        return count > 0 && BIO_nwrite(wire_.get(), &room, static_cast<int>(count)) > 0;
    }

    bool send_pending() {
        bool sent = false;
        for (char* bytes = nullptr; BIO_ctrl_pending(wire_.get()) > 0; sent = true) {
            const int size = BIO_nread(wire_.get(), &bytes, static_cast<int>(kPiece));
            Bytes copy(static_cast<std::size_t>(size));
            std::transform(bytes, bytes + size, copy.begin(), [](char byte) {
                return static_cast<std::byte>(byte);
            });
            tamper(copy);
            say(copy);
        }
        return sent;
    }

    /// The input is a list of [position u16][xor u8], positions from the start of the connection.
    void tamper(Bytes& piece) {
        if (plan_.talk() == LinkPlan::Talk::Tampered) {
            for (auto rest = input_; rest.size() >= 3; rest = rest.subspan(3)) {
                const std::size_t position = sixteen_bits(rest[0], rest[1]);
                if (position >= sent_ && position < sent_ + piece.size()) {
                    piece[position - sent_] ^= rest[2];
                }
            }
        }
        sent_ += piece.size();
    }

    void say(std::span<const std::byte> bytes) const {
        static_cast<void>(::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT));
    }

    void put(std::span<const std::byte> bytes) {
        std::size_t written = 0;
        SSL_write_ex(session_.get(), bytes.data(), std::min(bytes.size(), kPiece / 2), &written);
    }

    void greet() {
        const net::SessionSecret secret = net::exporter_secret(*session_);
        const protocol::Hello hello{
            protocol::kProtocolVersion,
            static_cast<std::uint32_t>(plan_.lane()),
            {7},
            net::prove_swarm_key(kSwarmKey, secret, side_)};
        const Bytes control = protocol::encode_hello(hello);
        protocol::FrameHeader header;
        header.kind = protocol::kHelloKind;
        header.control_bytes = static_cast<std::uint32_t>(control.size());
        put(protocol::encode_header(header));
        put(control);
        greeted_ = true;
    }

    int socket_;
    net::Side side_;
    LinkPlan plan_;
    std::span<const std::byte> input_;
    net::SslPtr session_;
    net::BioPtr wire_;
    std::size_t sent_ = 0;
    bool spoken_ = false;
    bool greeted_ = false;
    bool ended_ = false;
};

struct Outcome {
    bool done = false;
    bool let_in = false;
};

net::asio::awaitable<void> serve(
    std::shared_ptr<net::Link> link, LinkPlan plan, swarm::PeerId stranger, Outcome& outcome
) {
    const auto remote = co_await link->introduce(plan.lane());
    if (remote) {
        outcome.let_in = true;
        if (remote->peer != stranger) {
            found();
        }
        while (co_await link->read_frame()) {
        }
    }
    link->close_now();
    outcome.done = true;
}

void run(std::span<const std::byte> input) {
    const LinkPlan plan(std::to_integer<std::uint8_t>(input[0]));
    const net::Side side = plan.side();
    std::array<int, 2> sockets{};
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, sockets.data()) != 0) {
        return;
    }
    net::asio::io_context io;
    Stranger stranger(sockets[1], other(side), input);
    net::tcp::socket socket(io);
    socket.assign(net::tcp::v4(), sockets[0]);  // Asio does not ask for the kind of socket
    const auto link = std::make_shared<net::Link>(std::move(socket), terms(side), side);
    Outcome outcome;
    net::asio::co_spawn(
        io, serve(link, plan, identity(other(side)).peer(), outcome), net::asio::detached
    );
    for (int round = 0; !outcome.done; ++round) {
        io.restart();
        const bool link_acted = io.poll() > 0;
        const bool stranger_acted = stranger.act();
        if (!link_acted && !stranger_acted) {
            stranger.end();
        }
        if (round == kRoundsMax) {
            found();  // the end of input must end the link
        }
    }
    io.restart();
    io.poll();  // runs the handlers that the timers still hold
    if (outcome.let_in && !stranger.may_enter()) {
        found();
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size > 0) {
        run(std::as_bytes(std::span(data, size)));
    }
    return 0;
}
