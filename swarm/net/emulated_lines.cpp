#include "swarm/net/emulated_lines.hpp"

#include "swarm/base/try.hpp"
#include "swarm/net/as_tuple.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/asio/write.hpp>

#include <algorithm>
#include <deque>
#include <exception>
#include <map>
#include <thread>
#include <utility>
#include <vector>

namespace swarm::net {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;
using Clock = std::chrono::steady_clock;
using Instant = Clock::time_point;

/// A timer wakes late. The line then carries bytes that waited for it as if they had begun earlier,
/// by this time at most.
constexpr auto kCatchUp = std::chrono::milliseconds(5);
/// The time for which one piece keeps a line busy: a small frame waits that long at most behind a
/// large frame of another connection.
constexpr auto kLinePieceTime = std::chrono::milliseconds(2);
constexpr std::size_t kLinePieceBytesMin = 1500;
constexpr std::size_t kLinePieceBytesMax = 64ULL << 10;
constexpr auto kLineAcceptPause = std::chrono::milliseconds(50);
/// Small, so that bytes wait in this program for the line and not in the kernel in front of it.
constexpr int kSocketBufferBytes = 128 << 10;

/// One direction of a line, which the connections of its process share. It carries pieces in the
/// order of carry(); a connection has at most one piece in it.
class Direction {
 public:
    explicit Direction(std::uint64_t bytes_per_s) : bytes_per_s_(bytes_per_s) {}

    /// Takes `bytes` more, which are there since `since`, and returns the time at which they will
    /// have been carried.
    Instant carry(std::size_t bytes, Instant since) {
        carried_bytes_ += bytes;
        if (bytes_per_s_ == 0) {
            return since;
        }
        const std::chrono::duration<double> busy(
            static_cast<double>(bytes) / static_cast<double>(bytes_per_s_)
        );
        free_at_ = std::max(free_at_, since) + std::chrono::duration_cast<Clock::duration>(busy);
        return free_at_;
    }

    [[nodiscard]] std::uint64_t carried_bytes() const { return carried_bytes_; }

    [[nodiscard]] std::size_t piece_bytes() const {
        const double bytes = static_cast<double>(bytes_per_s_) *
                             std::chrono::duration<double>(kLinePieceTime).count();
        return bytes_per_s_ == 0 ? kLinePieceBytesMax
                                 : static_cast<std::size_t>(std::clamp(
                                       bytes,
                                       static_cast<double>(kLinePieceBytesMin),
                                       static_cast<double>(kLinePieceBytesMax)
                                   ));
    }

 private:
    std::uint64_t bytes_per_s_;
    std::uint64_t carried_bytes_ = 0;
    Instant free_at_{};
};

struct BothWays {
    explicit BothWays(EmulatedLines::Line line)
        : up(line.up_bytes_per_s), down(line.down_bytes_per_s) {}

    Direction up;
    Direction down;
};

struct Piece {
    std::vector<char> bytes;
    Instant due;
};

/// One way of a connection, with the pieces that have left and have not arrived.
struct Way {
    Way(tcp::socket& source, tcp::socket& target, Direction& sends, Direction& receives)
        : from(source),
          to(target),
          up(sends),
          down(receives),
          timer(source.get_executor()),
          changed(source.get_executor(), Instant::max()) {}

    tcp::socket& from;
    tcp::socket& to;
    Direction& up;
    Direction& down;
    asio::steady_timer timer;    // for the time that the line takes
    asio::steady_timer changed;  // cancelled whenever one of the next three changes
    std::deque<Piece> under_way;
    std::size_t bytes = 0;             // size of the pieces under way
    Instant end_due = Instant::max();  // arrival of the stream's end, once the end has left
};

struct Connection {
    Connection(tcp::socket dialled, asio::io_context& io, BothWays& client_line, BothWays& own_line)
        : client(std::move(dialled)),
          server(io),
          there(client, server, client_line.up, own_line.down),
          back(server, client, own_line.up, client_line.down) {}

    /// Resets both sockets: each side sees what it would see of a crash of the other.
    void cut() {
        error_code ignored;
        client.set_option(tcp::socket::linger(true, 0), ignored);
        server.set_option(tcp::socket::linger(true, 0), ignored);
        close();
    }

    void close() {
        error_code ignored;
        client.close(ignored);
        server.close(ignored);
        for (Way* const way : {&there, &back}) {
            way->timer.cancel();
            way->changed.cancel();
        }
        closed = true;
    }

    tcp::socket client;
    tcp::socket server;
    Way there;
    Way back;
    int open_ways = 2;
    bool closed = false;
};

using ConnectionPtr = std::shared_ptr<Connection>;

asio::awaitable<void> wait_until(asio::steady_timer& timer, Instant when) {
    if (when > Clock::now()) {
        timer.expires_at(when);
        co_await timer.async_wait(kAsTuple);
    }
}

asio::awaitable<void> wait_for_change(Way& way) {
    way.changed.expires_at(Instant::max());
    co_await way.changed.async_wait(kAsTuple);
}

asio::awaitable<void> take_in(ConnectionPtr connection, Way& way, Duration delay) {
    const std::size_t room = std::min(way.up.piece_bytes(), way.down.piece_bytes());
    Instant carried = Clock::now();  // when the line was done with the last piece
    while (!connection->closed) {
        std::vector<char> bytes(room);
        error_code ignored;
        const bool waited = way.from.available(ignored) > 0;
        const auto [error, count] =
            co_await way.from.async_read_some(asio::buffer(bytes), kAsTuple);
        if (error) {
            way.end_due = Clock::now() + delay;
            way.changed.cancel();
            co_return;
        }
        bytes.resize(count);
        const Instant now = Clock::now();
        const Instant since = waited ? std::max(now - kCatchUp, std::min(carried, now)) : now;
        carried = std::max(way.up.carry(count, since), way.down.carry(count, since));
        co_await wait_until(way.timer, carried);
        way.bytes += count;
        way.under_way.push_back({std::move(bytes), std::max(carried, now) + delay});
        way.changed.cancel();
        while (way.bytes > EmulatedLines::kUnderWayBytesMax && !connection->closed) {
            co_await wait_for_change(way);
        }
    }
}

asio::awaitable<void> hand_over(ConnectionPtr connection, Way& way) {
    asio::steady_timer arrival(way.to.get_executor());
    while (!connection->closed) {
        if (!way.under_way.empty()) {
            Piece piece = std::move(way.under_way.front());
            way.under_way.pop_front();
            co_await wait_until(arrival, piece.due);
            const auto [error, count] =
                co_await asio::async_write(way.to, asio::buffer(piece.bytes), kAsTuple);
            if (error) {
                connection->cut();
            }
            way.bytes -= piece.bytes.size();
            way.changed.cancel();
        } else if (way.end_due != Instant::max()) {
            co_await wait_until(arrival, way.end_due);
            error_code ignored;
            way.to.shutdown(tcp::socket::shutdown_send, ignored);
            co_return;
        } else {
            co_await wait_for_change(way);
        }
    }
}

Error cannot_listen(const error_code& error) {
    return {
        ErrorCode::Unreachable,
        Reaction::Fatal,
        "cannot emulate lines on the addresses 127.0.0.0/8: " + error.message()};
}

}  // namespace

class EmulatedLines::Core {
 public:
    explicit Core(Duration delay) : delay_(delay), thread_([this] { io_.run(); }) {}

    Core(const Core&) = delete;
    Core& operator=(const Core&) = delete;

    ~Core() {
        io_.stop();  // connections that are open end with their sockets
        thread_.join();
    }

    Result<Ends> add(Line line) {
        return in_thread<Ends>([this, line] { return add_here(line); });
    }

    Result<Address> add_front(const Address& back) {
        return in_thread<Address>([this, back]() -> Result<Address> {
            error_code error;
            const auto host = asio::ip::make_address(back.host, error);
            if (error) {
                return cannot_listen(error);
            }
            return open("127.0.0.1", Line{}, [&](std::uint16_t) {
                return tcp::endpoint(host, back.port);
            });
        });
    }

    std::uint64_t received_bytes(const std::string& source) {
        return *in_thread<std::uint64_t>([this, source]() -> Result<std::uint64_t> {
            const auto found = by_source_.find(source);
            return found == by_source_.end() ? 0 : found->second->down.carried_bytes();
        });
    }

    void cut_one(std::uint64_t draw) {
        asio::post(io_, [this, draw] {
            if (!connections_.empty()) {
                connections_[draw % connections_.size()]->cut();
            }
        });
    }

 private:
    struct Front {
        Front(asio::io_context& io, Line own) : acceptor(io), line(own) {}

        tcp::acceptor acceptor;
        tcp::endpoint back;
        BothWays line;
    };

    template <typename Value>
    Result<Value> in_thread(std::function<Result<Value>()> action) {
        return asio::post(io_, asio::use_future(std::move(action))).get();
    }

    Result<Ends> add_here(Line line) {
        if (count_ >= kLinesMax) {
            return cannot_listen(asio::error::no_descriptors);
        }
        // The first line has the front 127.2.0.1, the back 127.1.0.1 and the source 127.3.0.1; the
        // others count on. Front and back have the same port: the front's is free, and nothing else
        // uses the addresses behind.
        const std::string rest =
            std::to_string(count_ / 250) + "." + std::to_string(count_ % 250 + 1);
        ++count_;
        const std::string behind = "127.1." + rest;
        const auto back_of = [&](std::uint16_t port) {
            return tcp::endpoint(asio::ip::make_address(behind), port);
        };
        SWARM_TRY(const Address front, open("127.2." + rest, line, back_of));
        const std::string source = "127.3." + rest;
        by_source_[source] = &fronts_.back()->line;
        return Ends{front, Address{behind, front.port}, source};
    }

    Result<Address> open(
        const std::string& host,
        Line line,
        const std::function<tcp::endpoint(std::uint16_t)>& back_of
    ) {
        auto front = std::make_unique<Front>(io_, line);
        error_code error;
        const tcp::endpoint endpoint(asio::ip::make_address(host), 0);
        front->acceptor.open(endpoint.protocol(), error);
        if (!error) {
            front->acceptor.bind(endpoint, error);
        }
        if (!error) {
            front->acceptor.listen(tcp::acceptor::max_listen_connections, error);
        }
        if (error) {
            return cannot_listen(error);
        }
        const std::uint16_t port = front->acceptor.local_endpoint().port();
        front->back = back_of(port);
        fronts_.push_back(std::move(front));
        spawn(accept(*fronts_.back()));
        return Address{host, port};
    }

    asio::awaitable<void> accept(Front& front) {
        for (;;) {
            auto [error, socket] = co_await front.acceptor.async_accept(kAsTuple);
            if (!error) {
                const auto remote = socket.remote_endpoint(error);
                const auto known = by_source_.find(remote.address().to_string());
                BothWays& line = known == by_source_.end() ? unbounded_ : *known->second;
                auto connection =
                    std::make_shared<Connection>(std::move(socket), io_, line, front.line);
                connections_.push_back(connection);
                spawn(connect(std::move(connection), front.back));
            } else if (error != asio::error::connection_aborted) {
                asio::steady_timer pause(io_, kLineAcceptPause);  // no file descriptor is free
                co_await pause.async_wait(kAsTuple);
            }
        }
    }

    asio::awaitable<void> connect(ConnectionPtr connection, tcp::endpoint back) {
        co_await wait_until(connection->there.timer, Clock::now() + 2 * delay_);  // SYN and ACK
        auto [error] = co_await connection->server.async_connect(back, kAsTuple);
        if (error || connection->closed) {
            connection->cut();
            forget(connection);
            co_return;
        }
        for (tcp::socket* const socket : {&connection->client, &connection->server}) {
            socket->set_option(tcp::no_delay(true), error);
            socket->set_option(tcp::socket::receive_buffer_size(kSocketBufferBytes), error);
        }
        spawn(pass(connection, connection->there));
        spawn(pass(connection, connection->back));
    }

    /// Passes bytes one way. The connection ends when both ways have ended.
    asio::awaitable<void> pass(ConnectionPtr connection, Way& way) {
        spawn(take_in(connection, way, delay_));
        co_await hand_over(connection, way);
        if (--connection->open_ways == 0) {
            connection->close();
            forget(connection);
        }
    }

    void forget(const ConnectionPtr& connection) { std::erase(connections_, connection); }

    void spawn(asio::awaitable<void> task) {
        asio::co_spawn(io_, std::move(task), [](const std::exception_ptr& bug) {
            if (bug) {
                std::rethrow_exception(bug);
            }
        });
    }

    Duration delay_;
    asio::io_context io_{1};
    asio::executor_work_guard<asio::io_context::executor_type> guard_{io_.get_executor()};
    BothWays unbounded_{Line{}};
    std::vector<std::unique_ptr<Front>> fronts_;
    std::map<std::string, BothWays*> by_source_;
    std::vector<ConnectionPtr> connections_;
    std::size_t count_ = 0;
    std::thread thread_;  // last, because it uses all members above
};

EmulatedLines::EmulatedLines(Duration delay) : core_(std::make_unique<Core>(delay)) {}

EmulatedLines::~EmulatedLines() = default;

Result<EmulatedLines::Ends> EmulatedLines::add(Line line) {
    return core_->add(line);
}

Result<Address> EmulatedLines::add_front(const Address& back) {
    return core_->add_front(back);
}

std::uint64_t EmulatedLines::received_bytes(const std::string& source) {
    return core_->received_bytes(source);
}

void EmulatedLines::cut_one(std::uint64_t draw) {
    core_->cut_one(draw);
}

}  // namespace swarm::net
