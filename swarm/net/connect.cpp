#include "swarm/net/connect.hpp"

#include "swarm/net/address.hpp"
#include "swarm/net/as_tuple.hpp"

#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace swarm::net {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

namespace {

/// One call of connect_to_any(). Its handlers keep it alive.
class ConnectRace : public std::enable_shared_from_this<ConnectRace> {
 public:
    ConnectRace(
        const asio::any_io_executor& executor, Endpoints endpoints, asio::ip::address source
    )
        : executor_(executor),
          endpoints_(std::move(endpoints)),
          source_(std::move(source)),
          next_due_(executor),
          over_(executor) {
        sockets_.reserve(endpoints_.size());
    }

    asio::awaitable<Result<tcp::socket>> run(TimePoint due) {
        over_.expires_at(std::chrono::steady_clock::time_point(due.time_since_epoch()));
        try_next();
        if (!ended_) {
            co_await over_.async_wait(kAsTuple);
        }
        finish();
        if (winner_) {
            co_return std::move(*winner_);
        }
        co_return Error{ErrorCode::Unreachable, Reaction::Retry, "cannot connect to " + failures()};
    }

 private:
    void try_next() {
        next_due_.cancel();
        while (!ended_ && sockets_.size() < endpoints_.size()) {
            const std::size_t index = sockets_.size();
            tcp::socket& socket = sockets_.emplace_back(executor_);
            const error_code unbound = bind(socket, endpoints_[index]);
            if (unbound) {
                reasons_.emplace_back(index, unbound.message());
                continue;
            }
            ++open_;
            const auto answered = [race = shared_from_this(), index](const error_code& error) {
                race->answered(index, error);
            };
            socket.async_connect(endpoints_[index], answered);
            wait_before_next();
            return;
        }
        if (open_ == 0) {
            finish();
        }
    }

    [[nodiscard]] error_code bind(tcp::socket& socket, const tcp::endpoint& endpoint) const {
        error_code error;
        if (source_.is_unspecified()) {
            return error;
        }
        socket.open(endpoint.protocol(), error);
        if (!error) {
            socket.bind({source_, 0}, error);
        }
        return error;
    }

    void wait_before_next() {
        next_due_.expires_after(kNextAddressAfter);
        next_due_.async_wait([race = shared_from_this()](const error_code& cancelled) {
            if (!cancelled) {
                race->try_next();
            }
        });
    }

    void answered(std::size_t index, const error_code& error) {
        --open_;
        if (ended_) {
            return;
        }
        if (!error) {
            winner_ = std::move(sockets_[index]);
            finish();
            return;
        }
        reasons_.emplace_back(index, error.message());
        try_next();
    }

    void finish() {
        if (std::exchange(ended_, true)) {
            return;
        }
        next_due_.cancel();
        over_.cancel();
        for (tcp::socket& socket : sockets_) {
            error_code ignored;
            socket.close(ignored);
        }
    }

    /// Names each address with its reason; a socket without an answer was silent.
    [[nodiscard]] std::string failures() const {
        std::string text;
        for (std::size_t index = 0; index < endpoints_.size(); ++index) {
            std::string reason = "no answer in time";
            for (const auto& [failed, why] : reasons_) {
                reason = failed == index ? why : reason;
            }
            text += (text.empty() ? "" : ", ") + to_text(endpoints_[index]) + ": " + reason;
        }
        return text;
    }

    asio::any_io_executor executor_;
    Endpoints endpoints_;
    asio::ip::address source_;
    std::vector<tcp::socket> sockets_;  // by endpoint; never moves, because connects are under way
    std::vector<std::pair<std::size_t, std::string>> reasons_;  // endpoint and why it failed
    std::size_t open_ = 0;                                      // connects without an answer
    std::optional<tcp::socket> winner_;
    asio::steady_timer next_due_;
    asio::steady_timer over_;
    bool ended_ = false;
};

}  // namespace

asio::awaitable<Result<tcp::socket>> connect_to_any(
    Endpoints endpoints, asio::ip::address source, TimePoint due
) {
    const auto executor = co_await asio::this_coro::executor;
    const auto race = std::make_shared<ConnectRace>(executor, std::move(endpoints), source);
    co_return co_await race->run(due);
}

}  // namespace swarm::net
