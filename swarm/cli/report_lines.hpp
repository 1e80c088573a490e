// Reports as lines of JSON: what `swarm train --reports-fd` tells `swarm local`. Both are this
// binary, so there is no version. Numbers that must arrive bit for bit travel as hexadecimal text:
// a JSON parser may round.
// Threading: stateless. Errors: a line that is not understood is nullopt.
#pragma once

#include "swarm/node/report.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace swarm::cli {

/// The coordinator can be joined at host:port.
struct Listening {
    std::string address;
};

/// A step that an earlier process of the run has committed: nothing but its loss is known.
struct PastLoss {
    std::uint64_t step = 0;
    double loss = 0;
};

/// The run goes on from here with stages of so many layers.
struct StagesCut {
    std::uint64_t step = 0;
    std::vector<std::uint32_t> layers_per_stage;
};

using TrainReport = std::variant<
    Listening,
    PastLoss,
    StagesCut,
    node::StepCommitted,
    node::StepSkipped,
    node::ShareCounted,
    node::ShareLost,
    node::PeerChanged,
    node::RunFinished,
    node::RunFailed>;

/// The reports of a coordinator that a starter wants; nullopt for all others.
std::optional<TrainReport> as_train_report(const node::Report& report);

/// One line, with its newline.
std::string to_line(const TrainReport& report);
std::optional<TrainReport> parse_report(std::string_view line);

}  // namespace swarm::cli
