// The things that the connections of a server share: budgets, the gate, exchanges, and the choice
// of the one that has to make room.
// Invariant: each exchange has one connection. The sums are those of the connections that are here.
// Threading: single strand. Cost: O(log exchanges) per piece; O(connections) when bodies must give
// way, and once for kChosenAtOnce connections that must go.
#pragma once

#include "swarm/base/result.hpp"
#include "swarm/http/gate.hpp"
#include "swarm/http/http_server.hpp"
#include "swarm/http/signal.hpp"
#include "swarm/net/admission/arrivals.hpp"
#include "swarm/net/admission/eviction.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>

namespace swarm::http {

using asio::ip::tcp;

class Connection;

class ServerCore : public std::enable_shared_from_this<ServerCore> {
 public:
    ServerCore(asio::io_context& io, ServerOptions options, std::function<void(node::Asked)> ask);

    Result<std::uint16_t> listen();
    void reply(const node::WebReply& reply);
    void reply(const node::WebPiece& piece);
    void stop();
    /// Ends everything at once; nobody is asked any more.
    void end();

    [[nodiscard]] bool finished() const;

    [[nodiscard]] std::size_t connections() const { return connections_.size(); }

    [[nodiscard]] SSL_CTX* context() const { return context_.get(); }

    // For connections.
    [[nodiscard]] const Limits& limits() const { return options_.limits; }

    [[nodiscard]] Gate& gate() { return gate_; }

    [[nodiscard]] bool is_stopping() const { return stopping_; }

    /// Names a new exchange whose answers go to the connection.
    std::uint64_t open_exchange(std::shared_ptr<Connection> connection);
    void close_exchange(std::uint64_t exchange);
    void ask(node::WebRequest request);
    void tell_gone(std::uint64_t exchange);

    /// Changes the sum of bodies that arrive. When it would be too much, bodies of the machine that
    /// sends the most give way; returns false, and changes nothing, when that is the asker's.
    [[nodiscard]] bool add_body_bytes(const Connection& asker, std::size_t bytes);
    void remove_body_bytes(std::size_t bytes);
    /// Changes the sum of unread bytes. When it is too much, the connection with the most goes.
    void add_unread_bytes(std::size_t bytes);
    void remove_unread_bytes(std::size_t bytes);

    void forget(std::uint64_t connection);
    void spawn(asio::awaitable<void> task);

 private:
    asio::awaitable<void> accept();
    asio::awaitable<void> end_when_patience_is_over();
    void admit(tcp::socket socket);

    /// A connection that asks nothing yet.
    struct Leaver {
        std::uint64_t number = 0;
        TimePoint heard_at{};
    };

    /// Makes room for a newcomer; returns false when it is the newcomer that has to go.
    [[nodiscard]] bool make_room(const net::Evictable& newcomer);
    [[nodiscard]] std::shared_ptr<Connection> take_leaver();
    /// Returns the connection whose body gives way to the asker's; null: the asker's gives way.
    [[nodiscard]] std::shared_ptr<Connection> largest_body(
        const Connection& asker, std::size_t bytes
    ) const;
    [[nodiscard]] std::shared_ptr<Connection> connection_of(std::uint64_t exchange) const;
    void end_connections();

    asio::io_context& io_;
    ServerOptions options_;
    std::function<void(node::Asked)> ask_;
    Gate gate_;
    net::ContextPtr context_;
    tcp::acceptor acceptor_;
    Signal stop_signal_;
    net::Arrivals arrivals_;
    std::map<std::uint64_t, std::shared_ptr<Connection>> connections_;  // in order of arrival
    std::map<std::uint64_t, std::shared_ptr<Connection>> exchanges_;
    std::deque<Leaver> leavers_;  // those that make room next, if they still ask nothing then
    std::uint64_t next_connection_ = 0;
    std::size_t body_bytes_ = 0;
    std::size_t unread_bytes_ = 0;
    bool accepting_ = false;
    bool stopping_ = false;
    bool ended_ = false;
};

}  // namespace swarm::http
