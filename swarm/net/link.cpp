#include "swarm/net/link.hpp"

#include "swarm/protocol/limits.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <array>
#include <new>
#include <utility>

namespace swarm::net {
namespace {

using boost::system::error_code;
using Steady = std::chrono::steady_clock;

Error reject(ErrorCode code, std::string detail) {
    return {code, Reaction::Reject, std::move(detail)};
}

void append(std::vector<std::byte>& bytes, std::span<const std::byte> more) {
    bytes.insert(bytes.end(), more.begin(), more.end());
}

/// The header of a Hello, before anybody has proven anything.
Result<> check_hello_header(const protocol::FrameHeader& header) {
    if (header.kind != protocol::kHelloKind || header.envelope_bytes != 0 ||
        header.tensor_bytes != 0) {
        return reject(ErrorCode::Malformed, "the peer's first frame is no Hello");
    }
    if (header.control_bytes > protocol::kHelloBytesMax) {
        return reject(ErrorCode::TooLarge, "the peer's Hello is too large");
    }
    return {};
}

Result<> check_hello(const protocol::Hello& hello) {
    if (hello.protocol_version != protocol::kProtocolVersion) {
        return reject(
            ErrorCode::Mismatch,
            "the peer speaks protocol version " + std::to_string(hello.protocol_version) +
                ", this program " + std::to_string(protocol::kProtocolVersion) +
                "; update the older one"
        );
    }
    if (hello.lane > static_cast<std::uint32_t>(Lane::Bulk)) {
        return reject(ErrorCode::Malformed, "the peer's Hello names no lane");
    }
    return {};
}

/// Uncoded bytes must be exactly the elements of the shape; a codec checks its own when decoding.
Result<> check_tensor(const protocol::TensorEnvelope& envelope, std::uint64_t bytes) {
    const bool plain = envelope.codec == protocol::CodecId::None;
    if (plain && envelope.elements() * protocol::bytes_of(envelope.dtype) != bytes) {
        return reject(ErrorCode::Malformed, "the tensor's bytes are not those of its shape");
    }
    return {};
}

}  // namespace

TimePoint clock_now() {
    return TimePoint(std::chrono::duration_cast<Duration>(Steady::now().time_since_epoch()));
}

Link::Link(tcp::socket socket, std::shared_ptr<const Terms> terms, Side side)
    : stream_(std::move(socket), terms->tls, side),
      terms_(std::move(terms)),
      side_(side),
      timer_(stream_.socket().get_executor()) {}

asio::awaitable<Result<>> Link::connect(tcp::endpoint address, asio::ip::address source) {
    constexpr auto kAsTuple = asio::as_tuple(asio::use_awaitable);
    const auto failed = [](const error_code& error) {
        return Error{ErrorCode::Unreachable, Reaction::Retry, "cannot connect: " + error.message()};
    };
    if (closed_) {  // the deadline has passed between two attempts
        co_return Error{ErrorCode::Unreachable, Reaction::Retry, "cannot connect in time"};
    }
    error_code ignored;
    stream_.socket().close(ignored);  // of the attempt before, if any
    if (!source.is_unspecified()) {
        error_code unbound;
        stream_.socket().open(address.protocol(), unbound);
        if (!unbound) {
            stream_.socket().bind({source, 0}, unbound);
        }
        if (unbound) {
            co_return failed(unbound);
        }
    }
    const auto [error] = co_await stream_.socket().async_connect(address, kAsTuple);
    if (error) {
        co_return failed(error);
    }
    co_return Result<>();
}

asio::awaitable<Result<Link::Remote>> Link::introduce(Lane lane) {
    const Result<PeerId> peer = co_await handshake();
    if (!peer) {
        co_return peer.error();
    }
    if (side_ == Side::Client) {
        if (const Result<> said = co_await say_hello(lane); !said) {
            co_return said.error();
        }
    }
    const Result<protocol::Hello> hello = co_await hear_hello();
    if (!hello) {
        co_return hello.error();
    }
    lane_ = static_cast<Lane>(hello->lane);
    if (side_ == Side::Server) {
        if (const Result<> said = co_await say_hello(lane_); !said) {
            co_return said.error();
        }
    } else if (lane_ != lane) {
        co_return reject(ErrorCode::Malformed, "the peer answered for another lane");
    }
    co_return Remote{*peer, lane_, hello->incarnation};
}

asio::awaitable<Result<PeerId>> Link::handshake() {
    if (const Result<> done = co_await stream_.handshake(); !done) {
        co_return done.error();
    }
    const Result<PeerId> peer = peer_of_session(stream_.session());
    if (peer && *peer == terms_->self) {
        co_return reject(ErrorCode::Unreachable, "this address is our own");
    }
    co_return peer;
}

asio::awaitable<Result<>> Link::say_hello(Lane lane) {
    const SessionSecret secret = exporter_secret(stream_.session());
    const protocol::Hello hello{
        protocol::kProtocolVersion,
        static_cast<std::uint32_t>(lane),
        terms_->incarnation,
        prove_swarm_key(terms_->swarm_key, secret, side_)};
    const std::vector<std::byte> control = protocol::encode_hello(hello);
    protocol::FrameHeader header;
    header.kind = protocol::kHelloKind;
    header.control_bytes = static_cast<std::uint32_t>(control.size());
    std::vector<std::byte> bytes;
    append(bytes, protocol::encode_header(header));
    append(bytes, control);
    if (const Result<> written = co_await write_all(bytes); !written) {
        co_return written.error();
    }
    co_return co_await flush_all();
}

asio::awaitable<Result<protocol::Hello>> Link::hear_hello() {
    protocol::HeaderBytes header_bytes{};
    if (const Result<> read = co_await read_exactly(header_bytes, Patience::None); !read) {
        co_return read.error();
    }
    const Result<protocol::FrameHeader> header = decode_header(header_bytes, Lane::Control);
    if (!header) {
        co_return header.error();
    }
    if (const Result<> fits = check_hello_header(*header); !fits) {
        co_return fits.error();
    }
    std::vector<std::byte> control(header->control_bytes);
    if (const Result<> read = co_await read_exactly(control, Patience::None); !read) {
        co_return read.error();
    }
    const Result<protocol::Hello> hello = protocol::decode_hello(control);
    if (!hello) {
        co_return hello.error();
    }
    if (const Result<> right = check_hello(*hello); !right) {
        co_return right.error();
    }
    const SessionSecret secret = exporter_secret(stream_.session());
    const Side other = side_ == Side::Client ? Side::Server : Side::Client;
    const Result<> proven = check_swarm_key(terms_->swarm_key, secret, other, hello->proof);
    if (!proven) {
        co_return proven.error();
    }
    co_return hello;
}

asio::awaitable<Result<Link::Frame>> Link::read_frame() {
    protocol::HeaderBytes header_bytes{};
    if (const Result<> read = co_await read_exactly(header_bytes, Patience::UntilFirstByte);
        !read) {
        co_return read.error();
    }
    const Result<protocol::FrameHeader> header = protocol::decode_header(header_bytes, lane_);
    if (!header) {
        co_return header.error();
    }
    if (header->kind == protocol::kHelloKind) {
        co_return reject(ErrorCode::Malformed, "a second Hello");
    }
    std::vector<std::byte> head(header->control_bytes + header->envelope_bytes);
    if (const Result<> read = co_await read_exactly(head, Patience::None); !read) {
        co_return read.error();
    }
    const std::span<const std::byte> control(head.data(), header->control_bytes);
    Result<protocol::Message> message = protocol::decode_control(header->kind, control);
    if (!message) {
        co_return message.error();
    }
    if (protocol::lane_of(message->body) != lane_) {
        co_return reject(ErrorCode::Malformed, "a message on the wrong lane");
    }
    if (header->envelope_bytes == 0) {
        co_return Frame{std::move(*message), {}};
    }
    const std::span<const std::byte> rest = std::span(head).subspan(header->control_bytes);
    const Result<protocol::TensorEnvelope> envelope = protocol::decode_envelope(rest);
    if (!envelope) {
        co_return envelope.error();
    }
    Result<node::Payload> payload = co_await read_tensor(*envelope, header->tensor_bytes);
    if (!payload) {
        co_return payload.error();
    }
    co_return Frame{std::move(*message), std::move(*payload)};
}

asio::awaitable<Result<node::Payload>> Link::read_tensor(
    protocol::TensorEnvelope envelope, std::uint64_t bytes
) {
    if (const Result<> fits = check_tensor(envelope, bytes); !fits) {
        co_return fits.error();
    }
    // Left uninitialised: filling 4 MiB with zeros first costs a tenth of the transfer.
    const std::shared_ptr<std::byte[]> memory(new (std::nothrow) std::byte[bytes]);
    if (!memory) {
        co_return Error{ErrorCode::TooLarge, Reaction::BackOff, "no memory for a tensor"};
    }
    const std::span<std::byte> into(memory.get(), bytes);
    if (const Result<> read = co_await read_exactly(into, Patience::None); !read) {
        co_return read.error();
    }
    co_return node::Payload(std::move(envelope), into, memory);
}

asio::awaitable<void> Link::write_queue() {
    for (bool more = true; more;) {
        while (!queue_.empty()) {
            if (const Result<> written = co_await write_next(); !written) {
                close_now();
                co_return;  // still "writing": nobody writes after an error
            }
        }
        const bool last = closing_;
        if (last) {
            stream_.say_goodbye();
        }
        if (const Result<> flushed = co_await flush_all(); !flushed) {
            close_now();
            co_return;
        }
        if (last) {
            // Only our direction: closing with unread input would reset the connection, and a
            // reset may overtake what we have just written.
            stream_.shut_down_send();
            co_return;
        }
        more = !queue_.empty() || closing_;
    }
    writing_ = false;
}

asio::awaitable<Result<>> Link::write_next() {
    const Outgoing next = std::move(queue_.front());
    queue_.pop_front();
    if (const Result<> written = co_await write_all(next.head); !written) {
        co_return written.error();
    }
    const Result<> written = co_await write_all(next.payload.bytes());
    queued_bytes_ -= next.size();
    co_return written;
}

Result<> Link::enqueue(const protocol::Message& message, node::Payload payload) {
    const std::vector<std::byte> control = protocol::encode_control(message);
    const std::vector<std::byte> envelope =
        payload.empty() ? std::vector<std::byte>() : encode_envelope(payload.envelope());
    protocol::FrameHeader header;
    header.kind = static_cast<std::uint16_t>(message.body.index());
    header.control_bytes = static_cast<std::uint32_t>(control.size());
    header.envelope_bytes = static_cast<std::uint32_t>(envelope.size());
    header.tensor_bytes = payload.bytes().size();
    const protocol::HeaderBytes header_bytes = protocol::encode_header(header);
    if (const auto legal = protocol::decode_header(header_bytes, lane_); !legal) {
        return legal.error();  // the other side would hang up on it
    }
    Outgoing outgoing{{}, std::move(payload)};
    outgoing.head.reserve(header_bytes.size() + control.size() + envelope.size());
    append(outgoing.head, header_bytes);
    append(outgoing.head, control);
    append(outgoing.head, envelope);
    if (queued_bytes_ + outgoing.size() > protocol::kOutboxBytesMax) {
        return Error{
            ErrorCode::ConnectionLost, Reaction::RetryElsewhere, "the peer reads too slowly"};
    }
    queued_bytes_ += outgoing.size();
    queue_.push_back(std::move(outgoing));
    return {};
}

bool Link::needs_writer() {
    return !std::exchange(writing_, true);
}

asio::awaitable<Result<>> Link::read_exactly(std::span<std::byte> into, Patience patience) {
    bool begun = patience == Patience::None;
    for (std::size_t filled = 0; filled < into.size();) {
        read_due_ = begun ? clock_now() + terms_->stall_timeout : kNever;
        watch();
        const Result<std::size_t> count = co_await stream_.read_some(into.subspan(filled));
        if (!count) {
            co_return count.error();
        }
        filled += *count;
        begun = true;
    }
    read_due_ = kNever;
    co_return Result<>();
}

asio::awaitable<Result<>> Link::write_all(std::span<const std::byte> from) {
    while (!from.empty()) {
        write_due_ = clock_now() + terms_->stall_timeout;
        watch();
        const Result<std::size_t> count = co_await stream_.write_some(from);
        if (!count) {
            co_return count.error();
        }
        from = from.subspan(*count);
    }
    write_due_ = kNever;
    co_return Result<>();
}

asio::awaitable<Result<>> Link::flush_all() {
    for (bool more = true; more;) {
        write_due_ = clock_now() + terms_->stall_timeout;
        watch();
        const Result<bool> flushed = co_await stream_.flush_some();
        if (!flushed) {
            co_return flushed.error();
        }
        more = *flushed;
    }
    write_due_ = kNever;
    co_return Result<>();
}

void Link::close_now() {
    closed_ = true;
    stream_.close();
    timer_.cancel();
}

void Link::set_deadline(Duration from_now) {
    deadline_ = clock_now() + from_now;
    watch();
}

void Link::clear_deadline() {
    deadline_ = kNever;
}

TimePoint Link::due() const {
    return std::min({deadline_, read_due_, write_due_});
}

/// The timer may fire early, after a due time has moved; it then only looks again. So moving one
/// with every piece of a tensor costs a look at the clock and no system call.
void Link::watch() {
    if (closed_ || armed_for_ <= due()) {
        return;
    }
    armed_for_ = due();
    timer_.expires_at(Steady::time_point(armed_for_.time_since_epoch()));
    timer_.async_wait([weak = weak_from_this()](const error_code& cancelled) {
        const std::shared_ptr<Link> link = weak.lock();
        if (!link || cancelled) {
            return;
        }
        link->armed_for_ = kNever;
        if (link->due() <= clock_now()) {
            link->close_now();
        } else {
            link->watch();
        }
    });
}

}  // namespace swarm::net
