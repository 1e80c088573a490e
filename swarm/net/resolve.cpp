#include "swarm/net/resolve.hpp"

#include "swarm/net/address.hpp"
#include "swarm/net/as_tuple.hpp"
#include "swarm/net/co_try.hpp"

#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>

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

asio::awaitable<Result<Endpoints>> look_up_one(Address address, TimePoint due) {
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

}  // namespace

asio::awaitable<Result<Endpoints>> resolve(std::string addresses, TimePoint due) {
    SWARM_CO_TRY(const auto parsed, parse_addresses(addresses));
    Endpoints all;
    std::optional<Error> failure;
    for (const Address& address : parsed) {
        const Result<Endpoints> found = co_await look_up_one(address, due);
        if (found) {
            all.insert(all.end(), found->begin(), found->end());
        } else {
            failure = found.error();
        }
    }
    if (all.empty()) {
        co_return *failure;
    }
    co_return by_turns(all);
}

Endpoints by_turns(const Endpoints& endpoints) {
    Endpoints first;   // those of the family of the first endpoint
    Endpoints second;  // those of the other family
    for (const tcp::endpoint& endpoint : endpoints) {
        const bool like_first = endpoint.protocol() == endpoints.front().protocol();
        Endpoints& family = like_first ? first : second;
        if (std::find(family.begin(), family.end(), endpoint) == family.end()) {
            family.push_back(endpoint);
        }
    }
    Endpoints mixed;
    for (std::size_t i = 0; i < std::max(first.size(), second.size()); ++i) {
        for (const Endpoints* family : {&first, &second}) {
            if (i < family->size()) {
                mixed.push_back((*family)[i]);
            }
        }
    }
    return mixed;
}

std::string to_text(const tcp::endpoint& endpoint) {
    return to_text(Address{endpoint.address().to_string(), endpoint.port()});
}

}  // namespace swarm::net
