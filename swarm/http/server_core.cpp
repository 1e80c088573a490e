#include "swarm/http/server_core.hpp"

#include "swarm/base/check.hpp"
#include "swarm/base/try.hpp"
#include "swarm/http/connection.hpp"
#include "swarm/net/admission/eviction.hpp"
#include "swarm/net/admission/origin.hpp"
#include "swarm/net/as_tuple.hpp"
#include "swarm/net/listen.hpp"

#include <boost/asio/co_spawn.hpp>

#include <algorithm>
#include <atomic>
#include <exception>
#include <span>
#include <sys/resource.h>
#include <utility>
#include <vector>

namespace swarm::http {
namespace {

using boost::system::error_code;

constexpr auto kAcceptPause = std::chrono::milliseconds(100);
/// The system would let its own buffer grow to megabytes for each client that does not read.
constexpr int kSendBufferBytes = 128 << 10;
/// A crowd of newcomers costs one look at all connections for so many of them.
constexpr std::size_t kChosenAtOnce = 32;

/// A process may have several servers, and the numbers of their exchanges differ.
std::uint64_t next_exchange() {
    static std::atomic<std::uint64_t> last = 0;
    return ++last;
}

std::size_t file_descriptors_max() {
    rlimit limit{};
    ::getrlimit(RLIMIT_NOFILE, &limit);
    return limit.rlim_cur;
}

}  // namespace

ServerCore::ServerCore(
    asio::io_context& io, ServerOptions options, std::function<void(node::Asked)> ask
)
    : io_(io),
      options_(std::move(options)),
      ask_(std::move(ask)),
      gate_(options_.keys, options_.open_paths, options_.allowed_origin),
      acceptor_(io),
      stop_signal_(io.get_executor()) {}

Result<std::uint16_t> ServerCore::listen() {
    if (options_.tls) {
        SWARM_TRY(context_, make_server_context(*options_.tls, options_.listen_address));
    }
    SWARM_TRY(
        acceptor_,
        net::listen_at(
            io_.get_executor(), net::Address{options_.listen_address, options_.listen_port}
        )
    );
    error_code ignored;  // connections inherit it; one that does not is larger
    acceptor_.set_option(asio::socket_base::send_buffer_size(kSendBufferBytes), ignored);
    accepting_ = true;
    spawn(accept());
    return acceptor_.local_endpoint().port();
}

asio::awaitable<void> ServerCore::accept() {
    while (!stopping_) {
        auto [error, socket] = co_await acceptor_.async_accept(net::kAsTuple);
        if (stopping_) {
            break;
        }
        if (!error) {
            admit(std::move(socket));
        } else if (error != asio::error::connection_aborted) {
            asio::steady_timer pause(io_, kAcceptPause);
            co_await pause.async_wait(net::kAsTuple);
        }
    }
    accepting_ = false;
}

void ServerCore::admit(tcp::socket socket) {
    error_code gone;
    const tcp::endpoint from = socket.remote_endpoint(gone);
    if (gone) {
        return;
    }
    if (context_ && !arrivals_.take(net::origin_of(from.address()), clock_now())) {
        return;  // a handshake costs a signature
    }
    const std::uint64_t number = next_connection_++;
    auto connection =
        std::make_shared<Connection>(shared_from_this(), number, std::move(socket), from);
    if (!make_room(connection->evictable())) {
        return connection->evict();
    }
    connections_.emplace(number, connection);
    connection->start();
}

bool ServerCore::make_room(const net::Evictable& newcomer) {
    const std::size_t most =
        std::min<std::size_t>(options_.limits.connections_max, file_descriptors_max() / 2);
    if (connections_.size() < most) {
        return true;
    }
    if (const auto leaver = take_leaver()) {
        leaver->evict();
        return true;
    }
    std::vector<net::Evictable> all;
    std::vector<std::uint64_t> numbers;
    for (const auto& [number, connection] : connections_) {
        all.push_back(connection->evictable());
        numbers.push_back(number);
    }
    all.push_back(newcomer);
    const std::vector<std::size_t> chosen = net::choose_evictions(all, kChosenAtOnce);
    if (chosen.front() == numbers.size()) {
        return false;
    }
    for (const std::size_t next : std::span(chosen).subspan(1)) {
        if (next == numbers.size() || all[next].acquaintance != node::Acquaintance::Stranger) {
            break;  // those behind are worth more than a newcomer
        }
        leavers_.push_back({numbers[next], all[next].heard_at});
    }
    const std::shared_ptr<Connection> first = connections_.at(numbers[chosen.front()]);
    first->evict();
    return true;
}

std::shared_ptr<Connection> ServerCore::take_leaver() {
    while (!leavers_.empty()) {
        const Leaver leaver = leavers_.front();
        leavers_.pop_front();
        const auto found = connections_.find(leaver.number);
        if (found == connections_.end()) {
            continue;
        }
        const net::Evictable now = found->second->evictable();
        const bool is_stranger = now.acquaintance == node::Acquaintance::Stranger;
        if (is_stranger && now.heard_at == leaver.heard_at) {
            return found->second;
        }
    }
    return nullptr;
}

void ServerCore::reply(const node::WebReply& reply) {
    if (const auto connection = connection_of(reply.exchange)) {
        connection->reply(reply);
    }
}

void ServerCore::reply(const node::WebPiece& piece) {
    if (const auto connection = connection_of(piece.exchange)) {
        connection->reply(piece);
    }
}

std::shared_ptr<Connection> ServerCore::connection_of(std::uint64_t exchange) const {
    const auto found = exchanges_.find(exchange);
    return found == exchanges_.end() ? nullptr : found->second;
}

void ServerCore::stop() {
    if (std::exchange(stopping_, true)) {
        return;
    }
    error_code ignored;
    acceptor_.close(ignored);
    for (const auto& [number, connection] : connections_) {
        connection->stop();
    }
    spawn(end_when_patience_is_over());
}

asio::awaitable<void> ServerCore::end_when_patience_is_over() {
    const TimePoint due = clock_now() + options_.limits.stop_patience;
    while (!connections_.empty() && clock_now() < due) {
        co_await stop_signal_.wait_until(due);
    }
    end_connections();
}

void ServerCore::end_connections() {
    for (const auto& [number, connection] : std::exchange(connections_, {})) {
        connection->end();
    }
}

void ServerCore::end() {
    ask_ = nullptr;
    stopping_ = true;
    error_code ignored;
    acceptor_.close(ignored);
    exchanges_.clear();
    end_connections();
    stop_signal_.notify();
}

bool ServerCore::finished() const {
    return stopping_ && !accepting_ && connections_.empty() && exchanges_.empty();
}

std::uint64_t ServerCore::open_exchange(std::shared_ptr<Connection> connection) {
    const std::uint64_t exchange = next_exchange();
    exchanges_.emplace(exchange, std::move(connection));
    return exchange;
}

void ServerCore::close_exchange(std::uint64_t exchange) {
    exchanges_.erase(exchange);
}

void ServerCore::ask(node::WebRequest request) {
    if (ask_) {
        ask_(node::Asked{std::move(request)});
    }
}

void ServerCore::tell_gone(std::uint64_t exchange) {
    if (ask_) {
        ask_(node::Asked{node::WebGone{exchange}});
    }
}

bool ServerCore::add_body_bytes(const Connection& asker, std::size_t bytes) {
    while (bytes > 0 && body_bytes_ + bytes > options_.limits.bodies_bytes_max) {
        const std::shared_ptr<Connection> largest = largest_body(asker, bytes);
        if (!largest) {
            return false;
        }
        largest->give_up_body();
    }
    body_bytes_ += bytes;
    return true;
}

std::shared_ptr<Connection> ServerCore::largest_body(const Connection& asker, std::size_t bytes)
    const {
    std::map<std::uint64_t, std::size_t> of_network{{asker.origin().network, bytes}};
    std::map<std::uint64_t, std::size_t> of_machine{{asker.origin().machine, bytes}};
    std::vector<std::shared_ptr<Connection>> senders;
    for (const auto& [number, connection] : connections_) {
        if (const std::size_t size = connection->body_bytes(); size > 0) {
            of_network[connection->origin().network] += size;
            of_machine[connection->origin().machine] += size;
            senders.push_back(connection);
        }
    }
    const auto share = [&](const Connection& connection) {
        const net::Origin& origin = connection.origin();
        return std::pair(of_network.at(origin.network), of_machine.at(origin.machine));
    };
    const auto most = std::ranges::max_element(senders, {}, [&](const auto& connection) {
        return std::pair(share(*connection), connection->body_bytes());
    });
    const bool is_others = most != senders.end() && share(*most->get()) > share(asker);
    return is_others ? *most : nullptr;
}

void ServerCore::remove_body_bytes(std::size_t bytes) {
    SWARM_ASSERT(bytes <= body_bytes_);
    body_bytes_ -= bytes;
}

void ServerCore::add_unread_bytes(std::size_t bytes) {
    unread_bytes_ += bytes;
    if (unread_bytes_ <= options_.limits.unread_sum_max || connections_.empty()) {
        return;
    }
    const auto most = std::max_element(
        connections_.begin(),
        connections_.end(),
        [](const auto& a, const auto& b) {
            return a.second->unread_bytes() < b.second->unread_bytes();
        }
    );
    const std::shared_ptr<Connection> slowest = most->second;
    slowest->end();
}

void ServerCore::remove_unread_bytes(std::size_t bytes) {
    SWARM_ASSERT(bytes <= unread_bytes_);
    unread_bytes_ -= bytes;
}

void ServerCore::forget(std::uint64_t connection) {
    connections_.erase(connection);
    stop_signal_.notify();
}

void ServerCore::spawn(asio::awaitable<void> task) {
    const auto ended = [core = shared_from_this()](const std::exception_ptr& bug) {
        if (bug) {  // expected trouble would have come as a Result
            std::rethrow_exception(bug);
        }
    };
    asio::co_spawn(io_, std::move(task), ended);
}

}  // namespace swarm::http
