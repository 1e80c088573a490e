// An endpoint in the form of OpenAI's API: an HTTP server, and the role that answers it by peers.
// Threading: the loop's thread. Errors: those of opening the model, of addresses and of keys.
#pragma once

#include "swarm/base/result.hpp"
#include "swarm/cli/api/api.hpp"
#include "swarm/cli/terminal/console.hpp"
#include "swarm/http/http_server.hpp"
#include "swarm/net/event_loop.hpp"
#include "swarm/net/host.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace swarm::cli {

class ApiEndpoint {
 public:
    /// Gets the peers of each route of a session: the number of the stack's member, and the peers.
    using OnRoute = std::function<void(std::uint32_t, const std::vector<PeerId>&)>;

    /// All arguments outlive this object.
    ApiEndpoint(net::EventLoop& loop, const ApiOptions& options, OnRoute on_route, Console& console)
        : loop_(loop), options_(options), on_route_(std::move(on_route)), console_(console) {}

    Result<> start();

    /// Prints the URL. Call it when a signal is handled: whoever reads the line may send one.
    void announce() const;

    /// Takes no more requests; answers under way may end.
    void stop();

    /// Tells whether all answers have ended after stop(), or the endpoint has failed.
    [[nodiscard]] bool ended() const;

    /// Ends the links to peers. Returns the exit code of a failure, or kDone.
    int finish();

 private:
    Result<std::string> listen();
    void on_tell(const node::Report& report);

    net::EventLoop& loop_;
    const ApiOptions& options_;
    OnRoute on_route_;
    Console& console_;
    std::string announcement_;
    std::unique_ptr<http::HttpServer> server_;
    std::optional<net::Host> host_;  // declared last: its reports reach the other fields
    std::optional<int> failed_;
};

}  // namespace swarm::cli
