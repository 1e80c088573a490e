// Reports as lines of JSON, in which `swarm train --reports-fd` tells `swarm local` of a run. Both
// are this binary, so the lines have no version. Numbers that must arrive bit for bit travel as
// hexadecimal text, because a JSON parser may round.
// Threading: stateless. Errors: a line that is not understood gives nullopt.
#pragma once

#include "swarm/node/report.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace swarm::cli {

/// Peers can join the coordinator at this address.
struct Listening {
    std::string address;  // host:port
    std::string join;     // text after --join, with the name of the owner
};

/// A step that an earlier process of the run has committed; only its loss is known.
struct PastLoss {
    std::uint64_t step = 0;
    double loss = 0;
};

/// The run goes on from this step with stages of so many layers.
struct StagesCut {
    std::uint64_t step = 0;
    std::vector<std::uint32_t> layers_per_stage;
};

/// An evaluation of the held-out texts.
struct HeldOutFound {
    struct Text {
        std::string name;
        double loss = 0;                        // nats per token
        std::optional<double> bits_per_byte{};  // none: the size of the text is not known
    };

    std::uint64_t step = 0;  // steps that have made the weights
    double loss = 0;         // mean over the texts
    bool is_best = false;    // less than at all evaluations before
    std::vector<Text> texts{};
};

/// The run ends before its last step, because eval.patience is over.
struct PatienceOver {
    std::uint64_t step = 0;  // steps that have made the weights
    std::string reason;      // "no better held-out loss than 3.2140 in 5 evaluations"
};

using TrainReport = std::variant<
    Listening,
    PastLoss,
    StagesCut,
    HeldOutFound,
    PatienceOver,
    node::StepCommitted,
    node::StepSkipped,
    node::WorkCounted,
    node::ShareLost,
    node::PeerChanged,
    node::RunFinished,
    node::RunFailed>;

/// Returns the report if a starter of processes wants its kind, else nullopt.
std::optional<TrainReport> as_train_report(const node::Report& report);

/// Returns one line, with its newline.
std::string to_line(const TrainReport& report);
std::optional<TrainReport> parse_report(std::string_view line);

}  // namespace swarm::cli
