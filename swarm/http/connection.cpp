#include "swarm/http/connection.hpp"

#include "swarm/http/socket_ends.hpp"
#include "swarm/net/admission/origin.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace swarm::http {
namespace {

constexpr std::size_t kReadBytes = 8U << 10;

const Refusal kTooSlow{408, "request_timeout", "the request did not come in time"};
const Refusal kCutOff{400, "bad_request", "the request ended before it was whole"};
const Refusal kStopping{
    503, "stopping", "the server stops; ask again later", std::chrono::seconds(5)};
const Refusal kFull{503, "full", "the server has no room now; ask again", std::chrono::seconds(1)};

/// A refusal of what a request asks, and not of its form, leaves the connection usable.
bool leaves_connection_usable(unsigned status) {
    return status == 401 || status == 403 || status == 429;
}

bool has_no_body(unsigned status) {
    return status < 200 || status == 204 || status == 304;
}

}  // namespace

Connection::Connection(
    std::shared_ptr<ServerCore> core,
    std::uint64_t number,
    tcp::socket socket,
    const tcp::endpoint& from
)
    : core_(std::move(core)),
      number_(number),
      stream_(std::move(socket), core_->context()),
      from_(client_address(from)),
      origin_(net::origin_of(from.address())),
      reach_(reach_of(stream_.socket())),
      changed_(stream_.socket().get_executor()),
      room_(stream_.socket().get_executor()),
      outbox_(*core_, stream_, changed_),
      reader_(core_->limits()),
      heard_at_(clock_now()) {}

void Connection::start() {
    core_->spawn(serve(shared_from_this()));
}

asio::awaitable<void> Connection::serve(std::shared_ptr<Connection> self) {
    const bool is_open = co_await open();
    if (is_open) {
        core_->spawn(receive(self));
        Then then = Then::GoOn;
        while (then == Then::GoOn) {
            then = co_await serve_request();
        }
        if (then == Then::Farewell) {
            co_await say_farewell();
        }
    }
    leave();
}

asio::awaitable<void> Connection::receive([[maybe_unused]] std::shared_ptr<Connection> self) {
    std::vector<std::byte> bytes(kReadBytes);
    const std::size_t most = core_->limits().head_bytes_max;
    while (!has_left_) {
        if (input_.size() >= most) {
            co_await room_.wait_until(kNever);
            continue;
        }
        const auto room = std::span(bytes).first(std::min(bytes.size(), most - input_.size()));
        const Result<std::size_t> count = co_await stream_.read_some(room);
        if (!count) {
            break;
        }
        if (!discards_input_) {
            input_.append(reinterpret_cast<const char*>(bytes.data()), *count);
        } else if ((discarded_bytes_ += *count) > core_->limits().farewell_bytes_max) {
            break;
        }
        heard_at_ = clock_now();
        changed_.notify();
    }
    input_ended_ = true;
    changed_.notify();
}

asio::awaitable<bool> Connection::open() {
    asio::steady_timer due(stream_.socket().get_executor());
    close_in(due, core_->limits().head_patience);
    const Result<> opened = co_await stream_.open();
    due.cancel();
    co_return opened.has_value() && !broken_;
}

asio::awaitable<Connection::Then> Connection::serve_request() {
    Then then = co_await read_head();
    if (then != Then::GoOn) {
        co_return then;
    }
    has_head_ = true;
    keeps_alive_ = reader_.head().keeps_alive;
    const auto user = core_->gate().judge(reader_.head(), reach_, from_, clock_now());
    if (!user) {
        then = refuse(user.error());
    } else {
        then = co_await read_body();
        if (then != Then::GoOn) {
            co_return then;
        }
        if (core_->gate().browser_rules().is_preflight(reader_.head())) {
            answer_preflight();
        } else {
            ask(*user);
        }
        then = co_await await_answer();
    }
    if (then == Then::GoOn) {
        then = co_await await_sent();
    }
    if (then != Then::GoOn) {
        co_return then;
    }
    ++served_;
    has_head_ = false;
    reader_.next();
    co_return keeps_alive_ ? Then::GoOn : Then::Farewell;
}

asio::awaitable<Connection::Then> Connection::read_head() {
    const Limits& limits = core_->limits();
    TimePoint due = clock_now() + (served_ == 0 ? limits.head_patience : limits.idle_patience);
    bool has_begun = false;
    for (;;) {
        const bool had_input = !input_.empty();
        static_cast<void>(read_input());  // a head has no body to count
        if (reader_.stage() == RequestReader::Stage::Refused) {
            co_return refuse(reader_.refusal());
        }
        if (reader_.stage() != RequestReader::Stage::Head) {
            co_return Then::GoOn;
        }
        if (had_input && !std::exchange(has_begun, true)) {
            due = clock_now() + limits.head_patience;
        }
        if (is_lost()) {
            co_return Then::Leave;
        }
        if (input_ended_) {  // the client may still read
            co_return has_begun ? refuse(kCutOff) : Then::Leave;
        }
        if (core_->is_stopping()) {
            co_return has_begun ? refuse(kStopping) : Then::Leave;
        }
        if (clock_now() >= due) {
            co_return has_begun ? refuse(kTooSlow) : Then::Leave;
        }
        co_await changed_.wait_until(due);
    }
}

asio::awaitable<Connection::Then> Connection::read_body() {
    const Limits& limits = core_->limits();
    const TimePoint since = clock_now();
    if (reader_.head().expects_continue && input_.empty() &&
        reader_.stage() == RequestReader::Stage::Body) {
        put(std::string(kContinue));
    }
    for (;;) {
        if (gave_way_ || !read_input()) {
            co_return refuse(kFull);
        }
        if (reader_.stage() == RequestReader::Stage::Refused) {
            co_return refuse(reader_.refusal());
        }
        if (reader_.stage() == RequestReader::Stage::Whole) {
            co_return Then::GoOn;
        }
        if (is_lost()) {
            co_return Then::Leave;
        }
        if (input_ended_) {
            co_return refuse(kCutOff);
        }
        if (core_->is_stopping()) {
            co_return refuse(kStopping);
        }
        const auto earned = std::chrono::seconds(1) *
                            static_cast<std::int64_t>(body_bytes_ / limits.body_bytes_per_s_min);
        const TimePoint due =
            std::min(since + limits.body_patience + earned, heard_at_ + limits.body_pause_max);
        if (clock_now() >= due) {
            co_return refuse(kTooSlow);
        }
        co_await changed_.wait_until(due);
    }
}

asio::awaitable<Connection::Then> Connection::await_answer() {
    for (;;) {
        if (!answer_) {
            co_return Then::GoOn;
        }
        if (is_lost() || input_ended_) {
            co_return Then::Leave;
        }
        if (answer_->has_begun && !answer_->has_body) {  // nobody wants the rest
            const std::uint64_t exchange = answer_->exchange;
            end_answer();
            core_->tell_gone(exchange);
            co_return Then::GoOn;
        }
        co_await changed_.wait_until(outbox_.stalls_at());
    }
}

asio::awaitable<Connection::Then> Connection::await_sent() {
    while (!outbox_.empty()) {
        if (is_lost()) {
            co_return Then::Leave;
        }
        co_await changed_.wait_until(outbox_.stalls_at());
    }
    co_return is_lost() ? Then::Leave : Then::GoOn;
}

asio::awaitable<void> Connection::say_farewell() {
    const Then then = co_await await_sent();
    if (then == Then::Leave) {
        co_return;
    }
    discards_input_ = true;
    input_.clear();
    room_.notify();
    asio::steady_timer due(stream_.socket().get_executor());
    close_in(due, core_->limits().farewell_patience);
    co_await stream_.finish_sending();
    while (!input_ended_ && !is_lost()) {
        co_await changed_.wait_until(kNever);  // ends when the client does, or the timer closes
    }
    due.cancel();
}

void Connection::ask(std::string user) {
    const RequestHead& head = reader_.head();
    answer_.emplace();
    answer_->exchange = core_->open_exchange(shared_from_this());
    answer_->has_body = head.method != "HEAD";
    node::WebRequest request;
    request.exchange = answer_->exchange;
    request.method = answer_->has_body ? head.method : "GET";
    request.path = head.path;
    request.query = head.query;
    request.body = reader_.take_body();
    request.user = std::move(user);
    release_body();
    core_->ask(std::move(request));
}

void Connection::answer_preflight() {
    release_body();
    const std::string fields = core_->gate().browser_rules().preflight_fields(reader_.head());
    AnswerHead head;
    head.status = 204;
    head.fields = fields;
    put_answer(head, {}, BodyIs::LeftOut);
}

Connection::Then Connection::refuse(const Refusal& refusal) {
    const bool is_whole = has_head_ && reader_.stage() == RequestReader::Stage::Whole;
    keeps_alive_ = keeps_alive_ && is_whole && leaves_connection_usable(refusal.status);
    release_body();
    const std::string body = json_of(refusal);
    AnswerHead head;
    head.status = refusal.status;
    head.content_type = "application/json";
    head.retry_after = refusal.retry_after;
    const bool is_head = has_head_ && reader_.head().method == "HEAD";
    put_answer(head, body, is_head ? BodyIs::LeftOut : BodyIs::Sent);
    return keeps_alive_ ? Then::GoOn : Then::Farewell;
}

bool Connection::read_input() {
    input_.erase(0, reader_.read(input_));
    room_.notify();
    const std::size_t grown = reader_.body_bytes() - body_bytes_;
    if (!core_->add_body_bytes(*this, grown)) {
        return false;
    }
    body_bytes_ += grown;
    return true;
}

void Connection::release_body() {
    reader_.drop_body();
    core_->remove_body_bytes(std::exchange(body_bytes_, 0));
}

void Connection::give_up_body() {
    release_body();
    gave_way_ = true;
    changed_.notify();
}

void Connection::reply(const node::WebReply& reply) {
    if (!answer_ || answer_->has_begun || is_lost()) {
        return;
    }
    answer_->has_begun = true;
    AnswerHead head;
    head.status = reply.status;
    head.content_type = reply.content_type;
    head.retry_after = reply.retry_after;
    const std::string fields = reply.allow.empty() ? "" : "Allow: " + reply.allow + "\r\n";
    head.fields = fields;
    if (reply.more) {
        head.framing = reader_.head().is_http_1_0 ? Framing::Close : Framing::Chunks;
        answer_->is_chunked = head.framing == Framing::Chunks;
        keeps_alive_ = keeps_alive_ && answer_->is_chunked;
    }
    const BodyIs body_is = answer_->has_body ? BodyIs::Sent : BodyIs::LeftOut;
    answer_->has_body = answer_->has_body && !has_no_body(reply.status);
    put_answer(head, reply.body, body_is);
    if (reply.more) {
        changed_.notify();
    } else {
        end_answer();
    }
}

void Connection::reply(const node::WebPiece& piece) {
    if (!answer_ || !answer_->has_begun || !answer_->has_body || is_lost()) {
        return;
    }
    if (outbox_.unread_bytes() > core_->limits().unread_bytes_max) {
        return end();
    }
    if (!piece.bytes.empty()) {
        put(answer_->is_chunked ? chunk_of(piece.bytes) : piece.bytes);
    }
    if (piece.last) {
        if (answer_->is_chunked) {
            put(std::string(kLastChunk));
        }
        end_answer();
    }
}

void Connection::put_answer(AnswerHead head, std::string_view body, BodyIs body_is) {
    std::string fields(head.fields);
    if (has_head_) {
        fields += core_->gate().browser_rules().fields(reader_.head());
        head.is_http_1_0 = reader_.head().is_http_1_0;
    }
    if (has_no_body(head.status)) {
        head.framing = Framing::None;
        body_is = BodyIs::LeftOut;
    }
    keeps_alive_ = keeps_alive_ && !core_->is_stopping();
    head.keeps_alive = keeps_alive_;
    head.length = body.size();
    head.fields = fields;
    std::string text = text_of(head, std::time(nullptr));
    if (body_is == BodyIs::Sent && !body.empty()) {
        if (head.framing == Framing::Chunks) {
            text += chunk_of(body);
        } else {
            text += body;
        }
    }
    put(std::move(text));
}

void Connection::put(std::string bytes) {
    if (!broken_) {
        outbox_.put(std::move(bytes), shared_from_this());
    }
}

void Connection::end_answer() {
    core_->close_exchange(answer_->exchange);
    answer_.reset();
    changed_.notify();
}

bool Connection::is_lost() const {
    return broken_ || outbox_.has_failed() || clock_now() >= outbox_.stalls_at();
}

void Connection::stop() {
    changed_.notify();
}

void Connection::end() {
    if (!std::exchange(broken_, true)) {
        stream_.close();
        changed_.notify();
        core_->forget(number_);
    }
}

void Connection::evict() {
    if (!answer_ && served_ == 0) {
        stream_.send_at_once(text_of(kFull, std::time(nullptr)));
    }
    end();
}

net::Evictable Connection::evictable() const {
    const auto worth = answer_       ? node::Acquaintance::Partner
                       : served_ > 0 ? node::Acquaintance::Guest
                                     : node::Acquaintance::Stranger;
    return {origin_, worth, heard_at_};
}

void Connection::close_in(asio::steady_timer& timer, Duration patience) {
    timer.expires_after(patience);
    timer.async_wait([weak = weak_from_this()](const boost::system::error_code& cancelled) {
        const auto connection = weak.lock();
        if (connection && !cancelled) {
            connection->end();
        }
    });
}

void Connection::leave() {
    if (std::exchange(has_left_, true)) {
        return;
    }
    broken_ = true;
    stream_.close();
    room_.notify();
    release_body();
    outbox_.close();
    if (answer_) {
        const std::uint64_t exchange = answer_->exchange;
        end_answer();
        core_->tell_gone(exchange);
    }
    core_->forget(number_);
}

}  // namespace swarm::http
