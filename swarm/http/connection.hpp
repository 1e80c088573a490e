// One client's connection: its requests, one after the other, and the answer under way.
// Three coroutines work on it. serve() decides and waits for the other two: receive() keeps up to a
// head's size of bytes that came early, and so notices at any time that the client hangs up; the
// one of Outbox runs while there are bytes to send.
// Invariants: an exchange that serve() has opened ends here once, with its last piece or WebGone.
// A client that sends its end while an answer is under way counts as gone, as most of them do not
// say it in another way.
// Threading: single strand. Memory: two buffers of a head, a body, Limits::unread_bytes_max and the
// last piece.
#pragma once

#include "swarm/http/answer_text.hpp"
#include "swarm/http/byte_stream.hpp"
#include "swarm/http/outbox.hpp"
#include "swarm/http/request_reader.hpp"
#include "swarm/http/server_core.hpp"
#include "swarm/net/admission/eviction.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace swarm::http {

/// An answer under way.
struct OpenAnswer {
    std::uint64_t exchange = 0;
    bool has_begun = false;
    bool has_body = true;  // false: the request or the status wants the head alone
    bool is_chunked = false;
};

class Connection : public std::enable_shared_from_this<Connection> {
 public:
    /// `number` names it among the connections of the core.
    Connection(
        std::shared_ptr<ServerCore> core,
        std::uint64_t number,
        tcp::socket socket,
        const tcp::endpoint& from
    );

    void start();

    void reply(const node::WebReply& reply);
    void reply(const node::WebPiece& piece);

    /// Says that the server stops: a request that has not come whole is not taken any more.
    void stop();
    /// Ends it at once. An exchange under way gets its WebGone from the loop's next events.
    void end();
    /// Ends it for lack of room, and says so to a client that waits for its first answer.
    void evict();

    [[nodiscard]] net::Evictable evictable() const;

    [[nodiscard]] const net::Origin& origin() const { return origin_; }

    [[nodiscard]] std::size_t unread_bytes() const { return outbox_.unread_bytes(); }

    /// Bytes of a body that is still arriving.
    [[nodiscard]] std::size_t body_bytes() const { return body_bytes_; }

    /// Frees that body for another client's; this client is told that there is no room.
    void give_up_body();

 private:
    enum class Then { GoOn, Farewell, Leave };

    enum class BodyIs { Sent, LeftOut };

    asio::awaitable<void> serve(std::shared_ptr<Connection> self);
    asio::awaitable<void> receive(std::shared_ptr<Connection> self);

    asio::awaitable<bool> open();
    asio::awaitable<Then> serve_request();
    asio::awaitable<Then> read_head();
    asio::awaitable<Then> read_body();
    asio::awaitable<Then> await_answer();
    /// Waits until the client has taken all that was said.
    asio::awaitable<Then> await_sent();
    asio::awaitable<void> say_farewell();

    void ask(std::string user);
    void answer_preflight();
    Then refuse(const Refusal& refusal);
    /// Takes bytes that came into the request; returns false when there is no room for a body.
    [[nodiscard]] bool read_input();
    void release_body();

    /// Queues a head and what follows it, in its framing. Fills in the fields that are the same for
    /// all answers.
    void put_answer(AnswerHead head, std::string_view body, BodyIs body_is);
    void put(std::string bytes);
    void end_answer();
    /// Tells whether no more can be said to the client.
    [[nodiscard]] bool is_lost() const;
    void close_in(asio::steady_timer& timer, Duration patience);
    void leave();

    std::shared_ptr<ServerCore> core_;
    std::uint64_t number_;
    ByteStream stream_;
    std::string from_;  // the client's address
    net::Origin origin_;
    Gate::Reach reach_;
    Signal changed_;  // wakes serve()
    Signal room_;     // wakes receive()
    Outbox outbox_;
    RequestReader reader_;
    std::string input_;  // came and is not read
    std::optional<OpenAnswer> answer_;
    std::size_t body_bytes_ = 0;  // bytes in reader_ that the sum has
    std::size_t discarded_bytes_ = 0;
    std::size_t served_ = 0;
    TimePoint heard_at_;
    bool has_head_ = false;  // reader_ has a whole head
    bool keeps_alive_ = true;
    bool input_ended_ = false;
    bool discards_input_ = false;
    bool gave_way_ = false;  // the body was given up
    bool broken_ = false;
    bool has_left_ = false;
};

}  // namespace swarm::http
