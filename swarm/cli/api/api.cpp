#include "swarm/cli/api/api.hpp"

#include "swarm/cli/api/api_endpoint.hpp"
#include "swarm/cli/common/clock.hpp"
#include "swarm/cli/terminal/console.hpp"
#include "swarm/cli/terminal/exit_code.hpp"
#include "swarm/cli/terminal/service_manager.hpp"
#include "swarm/cli/terminal/stop_presses.hpp"

#include <cstdlib>
#include <optional>

namespace swarm::cli {

int api(const ApiOptions& options) {
    Console console;
    net::EventLoop loop;
    ApiEndpoint endpoint(loop, options, {}, console);
    if (const Result<> started = endpoint.start(); !started) {
        return end_with(console, started.error());
    }
    StopPresses presses;
    std::optional<int> signal;
    loop.on_signal([&](int number) {
        if (presses.note(clock_now()) == StopPress::Echo) {
            return;
        }
        if (signal) {
            std::_Exit(after_signal(number));
        }
        signal = number;
        console.info("ending; answers under way have 10 s (again: at once)");
        tell_service_manager("STOPPING=1");
        endpoint.stop();
    });
    tell_service_manager("READY=1");
    endpoint.announce();
    loop.run_until([&] { return endpoint.ended(); });
    const int exit_code = endpoint.finish();
    return exit_code == kDone && signal ? after_signal(*signal) : exit_code;
}

}  // namespace swarm::cli
