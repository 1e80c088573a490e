// One lane to one peer: a TLS connection that carries whole frames. The host and its coroutines own
// it. Invariants: one reader and at most one writer at a time; frames leave in the order of
// enqueue(); the memory of a tensor is allocated after its header and envelope are validated, and
// uninitialised, so an announced tensor costs nothing until it arrives; a large control part grows
// as it arrives; from a stranger nothing but a Hello is read.
// Deadlines: set_deadline() bounds opening and closing; a frame that has begun and a write must
// make progress within stall_timeout; an idle link is the role's business (heartbeats). A deadline
// only closes the socket; the pending operation then ends by itself.
// Threading: single strand. Errors: ConnectionLost (Retry); Malformed, TooLarge, Mismatch,
// Unauthorised (Reject).
#pragma once

#include "swarm/base/ids.hpp"
#include "swarm/base/result.hpp"
#include "swarm/base/units.hpp"
#include "swarm/net/rate_limit.hpp"
#include "swarm/net/tls_stream.hpp"
#include "swarm/node/payload.hpp"
#include "swarm/protocol/frame.hpp"

#include <boost/asio/steady_timer.hpp>

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace swarm::net {

using protocol::Lane;

/// Returns the time of a monotonic clock whose origin means nothing.
TimePoint clock_now();

class Link : public std::enable_shared_from_this<Link> {
 public:
    /// Bytes of frames that all links of a process have carried.
    struct Traffic {
        std::uint64_t sent_bytes = 0;
        std::uint64_t received_bytes = 0;
    };

    /// Settings that all links of a process share.
    struct Terms {
        TlsContext tls;
        PeerId self;
        Incarnation incarnation;
        std::string swarm_key;  // empty for an open run
        Duration stall_timeout;
        std::shared_ptr<Traffic> traffic = std::make_shared<Traffic>();
        std::shared_ptr<RateLimit> send_limit{};  // null: there is none
        std::shared_ptr<RateLimit> receive_limit{};
    };

    struct Remote {
        PeerId peer;
        Lane lane = Lane::Control;
        Incarnation incarnation;
        std::uint16_t dial_back_port = 0;  // not 0: the client wants no link, but to be dialled
    };

    struct DialBack {
        protocol::DialBack outcome = protocol::DialBack::Unasked;
        std::string seen_from;  // the address from which the client's connection came
    };

    /// Whether a live process other than the client has the client's key.
    enum class KeyIs : std::uint8_t { Free, InUse };

    /// Says whether a client may go on with who has answered its dial. The error ends the link.
    using Judge = std::function<Result<>(const Credentials&)>;

    struct Frame {
        protocol::Message message;
        node::Payload payload;
    };

    /// A frame up to its tensor, which is still on the way.
    struct Head {
        protocol::Message message;
        std::optional<protocol::TensorEnvelope> envelope;  // nothing: the frame has no tensor
        std::uint64_t tensor_bytes = 0;
    };

    /// Takes a socket that is connected.
    Link(tcp::socket socket, std::shared_ptr<const Terms> terms, Side side);

    [[nodiscard]] Side side() const { return side_; }

    [[nodiscard]] tcp::endpoint remote_endpoint(boost::system::error_code& error) {
        return stream_.socket().remote_endpoint(error);
    }

    /// Does the TLS handshake and the Hello: proves this peer's identity and learns the other's. A
    /// client asks for `lane`; a server takes the lane that it hears. A client's judge, if there is
    /// one, is asked between the two: whom it refuses gets neither Hello nor proof of the swarm
    /// key. Returns Unauthorised (Fatal) when the server answers that another process has this
    /// peer's key.
    asio::awaitable<Result<Remote>> introduce(Lane lane, Judge judge = {});
    /// The two halves of introduce() for a server that looks at the Hello before it answers.
    asio::awaitable<Result<Remote>> hear_introduction();
    asio::awaitable<Result<>> answer_introduction(KeyIs key);
    /// Instead of introduce(): asks the server to dial this client back, and says what came of it.
    /// The connection is of no further use then.
    asio::awaitable<Result<DialBack>> ask_dial_back(std::uint16_t port, Judge judge);
    asio::awaitable<Result<>> answer_dial_back(DialBack answer);

    asio::awaitable<Result<Frame>> read_frame();
    /// The parts of read_frame(), for a host that looks at what comes before it takes more.
    asio::awaitable<Result<protocol::FrameHeader>> read_header();
    asio::awaitable<Result<Head>> read_head(protocol::FrameHeader header);
    asio::awaitable<Result<node::Payload>> read_tensor(
        protocol::TensorEnvelope envelope, std::uint64_t bytes
    );
    /// Writes until the queue is empty; then ends this side's direction if the link is closing.
    asio::awaitable<void> write_queue();

    /// Returns TooLarge when the frame breaks a limit, and ConnectionLost when the receiver is too
    /// slow to take more (kOutboxBytesMax).
    Result<> enqueue(const protocol::Message& message, node::Payload payload);

    [[nodiscard]] std::uint64_t queued_bytes() const { return queued_bytes_; }

    /// Returns true once when a writer is needed: the caller must then run write_queue().
    [[nodiscard]] bool needs_writer();

    /// Says that no frame will follow. The link then needs a writer (needs_writer()).
    void close_when_written() { closing_ = true; }

    void close_now();
    void set_deadline(Duration from_now);
    void clear_deadline();

 private:
    enum class Patience { UntilFirstByte, None };

    struct Outgoing {
        std::vector<std::byte> head;  // header, control part, envelope
        node::Payload payload;

        [[nodiscard]] std::uint64_t size() const { return head.size() + payload.bytes().size(); }
    };

    asio::awaitable<Result<PeerId>> handshake();
    asio::awaitable<Result<PeerId>> meet(Judge judge);
    asio::awaitable<Result<>> say_hello(protocol::Hello hello);
    asio::awaitable<Result<protocol::Hello>> hear_hello();
    asio::awaitable<Result<std::vector<std::byte>>> read_growing(std::size_t bytes);
    asio::awaitable<Result<>> read_exactly(std::span<std::byte> into, Patience patience);
    asio::awaitable<Result<>> write_all(std::span<const std::byte> from);
    asio::awaitable<Result<>> flush_all();
    asio::awaitable<Result<>> write_next();
    asio::awaitable<Result<>> write_limited(std::span<const std::byte> from);
    /// Waits until the bytes may pass. ConnectionLost when the link closes meanwhile.
    asio::awaitable<Result<>> wait_for(
        RateLimit& limit, std::size_t bytes, asio::steady_timer& timer
    );
    void watch();
    [[nodiscard]] TimePoint due() const;

    TlsStream stream_;
    std::shared_ptr<const Terms> terms_;
    Side side_;
    Lane lane_ = Lane::Control;
    asio::steady_timer timer_;
    asio::steady_timer send_turn_;     // when a limit lets the next piece out
    asio::steady_timer receive_turn_;  // and in
    TimePoint armed_for_ = kNever;
    TimePoint deadline_ = kNever;
    TimePoint read_due_ = kNever;
    TimePoint write_due_ = kNever;
    std::deque<Outgoing> queue_;
    std::uint64_t queued_bytes_ = 0;
    bool writing_ = false;
    bool closing_ = false;
    bool closed_ = false;
};

}  // namespace swarm::net
