// The bytes of one connection that its client has not taken yet, and the coroutine that sends them.
// Invariants: bytes leave in the order of put(). They count in the server's sum until the system
// has taken them, or close().
// Threading: single strand. Errors: none; a write that fails shows in has_failed().
#pragma once

#include "swarm/http/byte_stream.hpp"
#include "swarm/http/server_core.hpp"
#include "swarm/http/signal.hpp"

#include <cstddef>
#include <deque>
#include <memory>
#include <string>

namespace swarm::http {

class Outbox {
 public:
    /// `changed` is notified when all is sent, and when sending has failed.
    Outbox(ServerCore& core, ByteStream& stream, Signal& changed)
        : core_(core), stream_(stream), changed_(changed) {}

    /// `owner` lives until the bytes are sent.
    void put(std::string bytes, std::shared_ptr<const void> owner);
    /// Drops what is left; nothing is put after it.
    void close();

    [[nodiscard]] bool empty() const { return pieces_.empty() && !sending_; }

    [[nodiscard]] bool has_failed() const { return failed_; }

    [[nodiscard]] std::size_t unread_bytes() const { return unread_bytes_; }

    /// Returns the time at which a client that goes on taking nothing has taken too long.
    [[nodiscard]] TimePoint stalls_at() const;

 private:
    asio::awaitable<void> send(std::shared_ptr<const void> owner);

    ServerCore& core_;
    ByteStream& stream_;
    Signal& changed_;
    std::deque<std::string> pieces_;
    std::size_t unread_bytes_ = 0;  // the size of pieces_
    TimePoint taken_at_{};          // when the client last took something
    bool sending_ = false;
    bool closed_ = false;
    bool failed_ = false;
};

}  // namespace swarm::http
