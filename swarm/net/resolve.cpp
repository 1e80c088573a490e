#include "swarm/net/resolve.hpp"

#include "swarm/net/address.hpp"
#include "swarm/net/as_tuple.hpp"
#include "swarm/net/co_try.hpp"

#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>

#include <chrono>
#include <memory>

namespace swarm::net {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

namespace {

struct LookUp {
    explicit LookUp(const asio::any_io_executor& executor)
        : resolver(executor), answered(executor) {}

    tcp::resolver resolver;
    asio::steady_timer answered;  // cancelled by the answer
    Endpoints endpoints;
    std::string failure = "the name server does not answer";
};

void start(const std::shared_ptr<LookUp>& look_up, const Address& address) {
    const auto take = [look_up](const error_code& error, const auto& results) {
        for (const auto& result : results) {
            look_up->endpoints.push_back(result.endpoint());
        }
        look_up->failure = error.message();
        look_up->answered.cancel();
    };
    look_up->resolver.async_resolve(address.host, std::to_string(address.port), take);
}

}  // namespace

asio::awaitable<Result<Endpoints>> resolve(std::string text, TimePoint due) {
    SWARM_CO_TRY(const auto address, parse_address(text));
    error_code named;
    const auto number = asio::ip::make_address(address.host, named);
    if (!named) {
        co_return Endpoints(1, tcp::endpoint(number, address.port));
    }
    const auto look_up = std::make_shared<LookUp>(co_await asio::this_coro::executor);
    look_up->answered.expires_at(std::chrono::steady_clock::time_point(due.time_since_epoch()));
    start(look_up, address);
    co_await look_up->answered.async_wait(kAsTuple);
    look_up->resolver.cancel();
    if (look_up->endpoints.empty()) {
        co_return Error{
            ErrorCode::NotFound,
            Reaction::Retry,
            "cannot find " + address.host + ": " + look_up->failure};
    }
    co_return look_up->endpoints;
}

}  // namespace swarm::net
