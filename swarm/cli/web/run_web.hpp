// Shows a run over HTTP, to read only: the page at /, /api/state, /metrics, /health, and /events,
// which sends the state again after steps.
// Threading: the loop's thread. Errors: Usage (Fatal) when the address cannot be used.
// Bounds: those of swarm/http; kWatchersMax streams of events.
#pragma once

#include "swarm/cli/web/run_state.hpp"
#include "swarm/http/http_server.hpp"
#include "swarm/net/event_loop.hpp"

#include <boost/asio/steady_timer.hpp>

#include <cstdint>
#include <memory>
#include <set>
#include <string>

namespace swarm::cli {

class RunWeb {
 public:
    static constexpr std::size_t kWatchersMax = 64;
    /// Least time between two events of a stream: people see no more.
    static constexpr Duration kEvery = std::chrono::milliseconds(250);

    /// `state` outlives this object.
    RunWeb(net::EventLoop& loop, const RunState& state)
        : loop_(loop), state_(state), timer_(loop.io()) {}

    RunWeb(const RunWeb&) = delete;
    RunWeb& operator=(const RunWeb&) = delete;

    /// `address`: [HOST:]PORT; without a host this machine alone. Returns the URL for people.
    Result<std::string> listen(const std::string& address);

    /// Sends the state to those who watch, now or when it is time.
    void changed(TimePoint now);

 private:
    void ask(const node::Asked& asked);
    void answer(const node::WebRequest& request);
    void send(TimePoint now);
    [[nodiscard]] std::string event() const;

    net::EventLoop& loop_;
    const RunState& state_;
    std::unique_ptr<http::HttpServer> server_;
    std::set<std::uint64_t> watchers_;
    TimePoint sent_at_{};
    boost::asio::steady_timer timer_;  // until the state may be sent again
    bool waits_ = false;               // for the timer
    /// The loop's handlers hold this weakly: that of a timer which has expired is called even after
    /// the timer was destroyed.
    std::shared_ptr<RunWeb*> self_ = std::make_shared<RunWeb*>(this);
};

}  // namespace swarm::cli
