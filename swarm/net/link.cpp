#include "swarm/net/link.hpp"

#include "swarm/base/try.hpp"
#include "swarm/net/as_tuple.hpp"
#include "swarm/net/co_try.hpp"
#include "swarm/protocol/limits.hpp"

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

/// Checks the first header of a link, when neither side has proven anything yet.
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

/// Checks that uncoded bytes are exactly the elements of the shape. A codec checks its own bytes
/// when it decodes them.
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
      timer_(stream_.socket().get_executor()),
      send_turn_(timer_.get_executor()),
      receive_turn_(timer_.get_executor()) {}

asio::awaitable<Result<Link::Remote>> Link::introduce(Lane lane, Judge judge) {
    if (side_ == Side::Server) {
        SWARM_CO_TRY(const auto remote, co_await hear_introduction());
        SWARM_CO_TRY(co_await answer_introduction(KeyIs::Free));
        co_return remote;
    }
    SWARM_CO_TRY(const auto peer, co_await meet(std::move(judge)));
    const protocol::Hello mine{.lane = static_cast<std::uint32_t>(lane)};
    SWARM_CO_TRY(co_await say_hello(mine));
    const Result<protocol::Hello> heard = co_await hear_hello();
    if (!heard && heard.error().code == ErrorCode::ConnectionLost) {
        // A host that refuses a Hello hangs up without a word, so the reason can only be guessed.
        co_return Error{
            ErrorCode::ConnectionLost,
            heard.error().reaction,
            "the peer hung up on our Hello; the likely cause is another --swarm-key or another "
            "version of the program, and the peer's log has the reason"};
    }
    SWARM_CO_TRY(const auto hello, heard);
    lane_ = static_cast<Lane>(hello.lane);
    if (hello.key_in_use) {
        co_return Error{
            ErrorCode::Unauthorised,
            Reaction::Fatal,
            "another process with this peer's key is at work there; end that one, or give this "
            "one a key of its own (another --key file, or none)"};
    }
    if (lane_ != lane) {
        co_return reject(ErrorCode::Malformed, "the peer answered for another lane");
    }
    co_return Remote{peer, lane_, hello.incarnation};
}

asio::awaitable<Result<Link::Remote>> Link::hear_introduction() {
    SWARM_CO_TRY(const auto peer, co_await handshake());
    SWARM_CO_TRY(const auto hello, co_await hear_hello());
    lane_ = static_cast<Lane>(hello.lane);
    co_return Remote{peer, lane_, hello.incarnation, hello.dial_back_port};
}

asio::awaitable<Result<>> Link::answer_introduction(KeyIs key) {
    const protocol::Hello mine{
        .lane = static_cast<std::uint32_t>(lane_), .key_in_use = key == KeyIs::InUse};
    co_return co_await say_hello(mine);
}

asio::awaitable<Result<Link::DialBack>> Link::ask_dial_back(std::uint16_t port, Judge judge) {
    SWARM_CO_TRY(co_await meet(std::move(judge)));
    const protocol::Hello question{.dial_back_port = port};
    SWARM_CO_TRY(co_await say_hello(question));
    SWARM_CO_TRY(const auto hello, co_await hear_hello());
    co_return DialBack{hello.dial_back, hello.seen_from};
}

asio::awaitable<Result<>> Link::answer_dial_back(DialBack answer) {
    const protocol::Hello mine{.dial_back = answer.outcome, .seen_from = answer.seen_from};
    co_return co_await say_hello(mine);
}

asio::awaitable<Result<PeerId>> Link::handshake() {
    if (terms_->receive_limit) {
        error_code ignored;  // then the sender feels the limit later
        const int bytes = terms_->receive_limit->receive_buffer_bytes();
        stream_.socket().set_option(asio::socket_base::receive_buffer_size(bytes), ignored);
    }
    SWARM_CO_TRY(co_await stream_.handshake());
    const Result<PeerId> peer = peer_of_session(stream_.session());
    if (peer && *peer == terms_->self) {
        co_return reject(ErrorCode::Unreachable, "this address is our own");
    }
    co_return peer;
}

// The proof of the swarm key is in the Hello. Whoever has a proof can try keys on it without limit,
// so nobody gets one before the judge has seen his certificate.
asio::awaitable<Result<PeerId>> Link::meet(Judge judge) {
    SWARM_CO_TRY(const auto peer, co_await handshake());
    if (judge) {
        SWARM_CO_TRY(const auto shown, credentials_of_session(stream_.session()));
        SWARM_CO_TRY(judge(shown));
    }
    co_return peer;
}

asio::awaitable<Result<>> Link::say_hello(protocol::Hello hello) {
    const SessionSecret secret = exporter_secret(stream_.session());
    hello.protocol_version = protocol::kProtocolVersion;
    hello.incarnation = terms_->incarnation;
    hello.proof = prove_swarm_key(terms_->swarm_key, secret, side_);
    const std::vector<std::byte> control = protocol::encode_hello(hello);
    protocol::FrameHeader header;
    header.kind = protocol::kHelloKind;
    header.control_bytes = static_cast<std::uint32_t>(control.size());
    std::vector<std::byte> bytes;
    append(bytes, protocol::encode_header(header));
    append(bytes, control);
    SWARM_CO_TRY(co_await write_all(bytes));
    co_return co_await flush_all();
}

asio::awaitable<Result<protocol::Hello>> Link::hear_hello() {
    protocol::HeaderBytes header_bytes{};
    SWARM_CO_TRY(co_await read_exactly(header_bytes, Patience::None));
    SWARM_CO_TRY(const auto header, decode_header(header_bytes, Lane::Control));
    SWARM_CO_TRY(check_hello_header(header));
    std::vector<std::byte> control(header.control_bytes);
    SWARM_CO_TRY(co_await read_exactly(control, Patience::None));
    SWARM_CO_TRY(const auto hello, protocol::decode_hello(control));
    SWARM_CO_TRY(check_hello(hello));
    const SessionSecret secret = exporter_secret(stream_.session());
    const Side other = side_ == Side::Client ? Side::Server : Side::Client;
    SWARM_CO_TRY(check_swarm_key(terms_->swarm_key, secret, other, hello.proof));
    co_return hello;
}

asio::awaitable<Result<Link::Frame>> Link::read_frame() {
    SWARM_CO_TRY(const auto header, co_await read_header());
    SWARM_CO_TRY(auto head, co_await read_head(header));
    if (!head.envelope) {
        co_return Frame{std::move(head.message), {}};
    }
    SWARM_CO_TRY(auto payload, co_await read_tensor(std::move(*head.envelope), head.tensor_bytes));
    co_return Frame{std::move(head.message), std::move(payload)};
}

asio::awaitable<Result<protocol::FrameHeader>> Link::read_header() {
    protocol::HeaderBytes bytes{};
    SWARM_CO_TRY(co_await read_exactly(bytes, Patience::UntilFirstByte));
    SWARM_CO_TRY(const auto header, protocol::decode_header(bytes, lane_));
    if (header.kind == protocol::kHelloKind) {
        co_return reject(ErrorCode::Malformed, "a second Hello");
    }
    co_return header;
}

asio::awaitable<Result<Link::Head>> Link::read_head(protocol::FrameHeader header) {
    const std::size_t head_bytes = header.control_bytes + header.envelope_bytes;
    SWARM_CO_TRY(const auto head, co_await read_growing(head_bytes));
    const std::span<const std::byte> control(head.data(), header.control_bytes);
    SWARM_CO_TRY(auto message, protocol::decode_control(header.kind, control));
    if (protocol::lane_of(message.body) != lane_) {
        co_return reject(ErrorCode::Malformed, "a message on the wrong lane");
    }
    if (header.envelope_bytes == 0) {
        co_return Head{std::move(message), std::nullopt};
    }
    const std::span<const std::byte> rest = std::span(head).subspan(header.control_bytes);
    SWARM_CO_TRY(auto envelope, protocol::decode_envelope(rest));
    SWARM_CO_TRY(check_tensor(envelope, header.tensor_bytes));
    co_return Head{std::move(message), std::move(envelope), header.tensor_bytes};
}

asio::awaitable<Result<std::vector<std::byte>>> Link::read_growing(std::size_t bytes) {
    std::vector<std::byte> read;
    while (read.size() < bytes) {
        const std::size_t here = read.size();
        read.resize(std::min(bytes, std::max<std::size_t>(protocol::kControlBytesMax, 2 * here)));
        SWARM_CO_TRY(co_await read_exactly(std::span(read).subspan(here), Patience::None));
    }
    co_return read;
}

asio::awaitable<Result<node::Payload>> Link::read_tensor(
    protocol::TensorEnvelope envelope, std::uint64_t bytes
) {
    // The memory stays uninitialised: filling 4 MiB with zeros costs a tenth of the transfer.
    const std::shared_ptr<std::byte[]> memory(new (std::nothrow) std::byte[bytes]);
    if (!memory) {
        co_return Error{ErrorCode::TooLarge, Reaction::BackOff, "no memory for a tensor"};
    }
    const std::span<std::byte> into(memory.get(), bytes);
    SWARM_CO_TRY(co_await read_exactly(into, Patience::None));
    co_return node::Payload(std::move(envelope), into, memory);
}

asio::awaitable<void> Link::write_queue() {
    for (bool more = true; more;) {
        while (!queue_.empty()) {
            if (const Result<> written = co_await write_next(); !written) {
                close_now();
                co_return;  // writing_ stays true, so nobody writes after an error
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
            // Ends this side's direction only: closing with unread input would reset the
            // connection, and a reset may overtake the bytes just written.
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
    SWARM_CO_TRY(co_await write_limited(next.head));
    const Result<> written = co_await write_limited(next.payload.bytes());
    queued_bytes_ -= next.size();
    terms_->traffic->sent_bytes += next.size();
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
    SWARM_TRY(protocol::decode_header(header_bytes, lane_));  // the other side checks the same
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
    RateLimit* const limit = terms_->receive_limit.get();
    for (std::size_t filled = 0; filled < into.size();) {
        read_due_ = begun ? clock_now() + terms_->stall_timeout : kNever;
        watch();
        const auto rest = into.subspan(filled);
        const auto piece =
            rest.first(limit ? std::min(limit->piece_bytes(), rest.size()) : rest.size());
        SWARM_CO_TRY(const auto count, co_await stream_.read_some(piece));
        filled += count;
        terms_->traffic->received_bytes += count;
        begun = true;
        if (limit != nullptr) {
            read_due_ = kNever;
            SWARM_CO_TRY(co_await wait_for(*limit, count, receive_turn_));
        }
    }
    read_due_ = kNever;
    co_return Result<>();
}

asio::awaitable<Result<>> Link::wait_for(
    RateLimit& limit, std::size_t bytes, asio::steady_timer& timer
) {
    const TimePoint turn = limit.pass(bytes, lane_, clock_now());
    while (!closed_ && clock_now() < turn) {
        timer.expires_at(Steady::time_point(turn.time_since_epoch()));
        co_await timer.async_wait(kAsTuple);
    }
    if (closed_) {
        co_return Error{ErrorCode::ConnectionLost, Reaction::Retry, "the link was closed"};
    }
    co_return Result<>();
}

/// Sends each piece at its turn, and then at once, so that none lies in a buffer until the next.
asio::awaitable<Result<>> Link::write_limited(std::span<const std::byte> from) {
    RateLimit* const limit = terms_->send_limit.get();
    if (limit == nullptr) {
        co_return co_await write_all(from);
    }
    while (!from.empty()) {
        const auto piece = from.first(std::min(limit->piece_bytes(), from.size()));
        SWARM_CO_TRY(co_await wait_for(*limit, piece.size(), send_turn_));
        SWARM_CO_TRY(co_await write_all(piece));
        SWARM_CO_TRY(co_await flush_all());
        from = from.subspan(piece.size());
    }
    co_return Result<>();
}

asio::awaitable<Result<>> Link::write_all(std::span<const std::byte> from) {
    while (!from.empty()) {
        write_due_ = clock_now() + terms_->stall_timeout;
        watch();
        SWARM_CO_TRY(const auto count, co_await stream_.write_some(from));
        from = from.subspan(count);
    }
    write_due_ = kNever;
    co_return Result<>();
}

asio::awaitable<Result<>> Link::flush_all() {
    for (bool more = true; more;) {
        write_due_ = clock_now() + terms_->stall_timeout;
        watch();
        SWARM_CO_TRY(const auto flushed, co_await stream_.flush_some());
        more = flushed;
    }
    write_due_ = kNever;
    co_return Result<>();
}

void Link::close_now() {
    closed_ = true;
    stream_.close();
    timer_.cancel();
    send_turn_.cancel();
    receive_turn_.cancel();
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

/// Arms the timer. It may fire early, after a due time has moved, and then only looks again. So
/// each piece of a tensor can move its due time for the cost of reading the clock, without a system
/// call.
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
