// A run's state, and its page for browsers if that is asked for. `swarm local` has one, which
// outlives the coordinators of its run.
// Threading: the loop's thread. Errors: those of RunWeb.
#pragma once

#include "swarm/cli/terminal/console.hpp"
#include "swarm/cli/web/run_state.hpp"
#include "swarm/cli/web/run_web.hpp"

#include <optional>
#include <string>
#include <utility>

namespace swarm::cli {

class ShownRun {
 public:
    /// `loop` outlives this object.
    ShownRun(net::EventLoop& loop, run::RunConfig config)
        : loop_(loop), state_(std::move(config)) {}

    /// Shows the run at this address, and prints the URL. Empty: nobody sees it.
    Result<> listen(const std::string& address, Console& console);

    void add(const TrainReport& report);
    /// Adds what no report of the coordinator tells, or tells later.
    void note(const char* what, std::optional<PeerId> peer, std::string reason);
    void note_end(PeerId peer, std::string reason);

 private:
    void changed();

    net::EventLoop& loop_;
    RunState state_;
    std::optional<RunWeb> web_;
};

}  // namespace swarm::cli
