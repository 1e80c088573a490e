// A run as its coordinator has told it, in the words and numbers of `swarm status`.
// Invariant: texts of others are printable before they reach a terminal.
// Threading: pure functions, and a value.
#pragma once

#include "stacking/run_view.hpp"
#include "swarm/base/units.hpp"
#include "swarm/run/partition.hpp"

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace swarm::cli {

struct RunStatus {
    struct Peer {
        std::string id;        // all digits
        std::string standing;  // member, suspect, draining or observer
        std::string address;
    };

    struct Stage {
        std::uint32_t first_layer = 0;
        std::uint32_t layers = 0;
        std::vector<Peer> peers;
        run::LayerPart part = {};  // {0, 1} where the stage has whole layers
    };

    std::string name;
    std::uint64_t step = 0;  // steps that are done
    std::uint64_t steps = 0;
    std::optional<double> loss;           // loss of the last step
    std::optional<double> held_out_loss;  // mean of the last evaluation
    std::vector<Stage> stages;
};

/// REQUIRES: the view knows configuration and progress.
RunStatus status_of(const stacking::RunView& view);

/// One line about the run, and a table of its peers.
std::string status_text(const RunStatus& status);
std::string status_json(const RunStatus& status);

/// Lines of a run that is watched. The time of a step is that between the steps that were seen.
class WatchedRun {
 public:
    /// Returns the line to show; nullopt: nothing has changed since the last one.
    std::optional<std::string> see(const RunStatus& status, TimePoint now);

 private:
    std::deque<std::pair<std::uint64_t, TimePoint>> seen_;  // steps and when they were new
    std::string line_;
};

}  // namespace swarm::cli
