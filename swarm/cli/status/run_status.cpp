#include "swarm/cli/status/run_status.hpp"

#include "swarm/cli/common/progress.hpp"
#include "swarm/cli/terminal/printable.hpp"
#include "swarm/cli/terminal/text_table.hpp"
#include "swarm/net/identity.hpp"
#include "swarm/run/partition.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include <cmath>
#include <cstdio>

namespace swarm::cli {
namespace {

namespace json = boost::json;

constexpr std::size_t kSeenMax = 16;  // steps over which the time of a step is taken
constexpr std::size_t kIdDigits = 8;  // digits of a peer's id in the table

const char* to_text(protocol::Standing standing) {
    switch (standing) {
        case protocol::Standing::Member:
            return "member";
        case protocol::Standing::Suspect:
            return "suspect";
        case protocol::Standing::Draining:
            return "draining";
        case protocol::Standing::Observer:
            return "observer";
    }
    return "?";
}

std::string number(const char* format, double value) {
    char text[32];
    std::snprintf(text, sizeof text, format, value);
    return text;
}

/// "step 12/60  loss 3.2140  held-out 3.3001".
std::string standing_text(const RunStatus& status) {
    std::string text = "step " + std::to_string(status.step) + "/" + std::to_string(status.steps);
    if (status.loss) {
        text += "  loss " + number("%.4f", *status.loss);
    }
    if (status.held_out_loss) {
        text += "  held-out " + number("%.4f", *status.held_out_loss);
    }
    return text;
}

std::vector<std::uint32_t> peers_per_stage(const RunStatus& status) {
    std::vector<std::uint32_t> peers;
    for (const RunStatus::Stage& stage : status.stages) {
        peers.push_back(static_cast<std::uint32_t>(stage.peers.size()));
    }
    return peers;
}

json::value number_or_null(const std::optional<double>& value) {
    return value && std::isfinite(*value) ? json::value(*value) : json::value(nullptr);
}

}  // namespace

RunStatus status_of(const stacking::RunView& view) {
    const run::RunConfig& config = *view.config();
    RunStatus status;
    status.name = config.name;
    status.step = view.progress()->version.step;
    status.steps = config.steps;
    status.loss = view.progress()->loss;
    status.held_out_loss = view.progress()->held_out_loss;
    for (const run::StageLayout& layout : run::partition(config)) {
        RunStatus::Stage stage{layout.first_layer, layout.layers, {}, layout.part};
        for (const SlotId slot : view.roster().slots_of(layout.stage)) {
            const protocol::SlotInfo& info = *view.roster().find(slot);
            stage.peers.push_back({net::to_text(info.peer), to_text(info.standing), info.address});
        }
        status.stages.push_back(std::move(stage));
    }
    return status;
}

std::string status_text(const RunStatus& status) {
    std::vector<TableRow> rows{{"stage", "layers", "peer", "standing", "address"}};
    for (std::size_t i = 0; i < status.stages.size(); ++i) {
        const RunStatus::Stage& stage = status.stages[i];
        const TableRow first{
            std::to_string(i), run::layers_text(stage.first_layer, stage.layers, stage.part)};
        if (stage.peers.empty()) {
            rows.push_back({first[0], first[1], "-", "nobody", ""});
        }
        for (const RunStatus::Peer& peer : stage.peers) {
            rows.push_back(
                {first[0],
                 first[1],
                 peer.id.substr(0, kIdDigits),
                 peer.standing,
                 printable(peer.address)}
            );
        }
    }
    return printable(status.name) + ": " + standing_text(status) + "\n" + text_table(rows, {0});
}

std::string status_json(const RunStatus& status) {
    json::array stages;
    for (const RunStatus::Stage& stage : status.stages) {
        json::array peers;
        for (const RunStatus::Peer& peer : stage.peers) {
            peers.push_back(json::object{
                {"peer", peer.id}, {"standing", peer.standing}, {"address", peer.address}});
        }
        json::object one{{"first_layer", stage.first_layer}, {"layers", stage.layers}};
        one["part"] = stage.part.index;
        one["parts"] = stage.part.parts;
        one["peers"] = std::move(peers);
        stages.push_back(std::move(one));
    }
    json::object run{{"name", status.name}, {"step", status.step}, {"steps", status.steps}};
    run["loss"] = number_or_null(status.loss);
    run["held_out_loss"] = number_or_null(status.held_out_loss);
    run["stages"] = std::move(stages);
    return json::serialize(run) + "\n";
}

std::optional<std::string> WatchedRun::see(const RunStatus& status, TimePoint now) {
    if (!seen_.empty() && status.step < seen_.back().first) {
        seen_.clear();  // the run went back to a checkpoint
    }
    if (seen_.empty() || status.step > seen_.back().first) {
        seen_.emplace_back(status.step, now);
    }
    if (seen_.size() > kSeenMax) {
        seen_.pop_front();
    }
    std::string line = standing_text(status);
    const std::uint64_t made = seen_.back().first - seen_.front().first;
    if (made > 0) {
        const std::chrono::duration<double> took = seen_.back().second - seen_.front().second;
        const double step_s = took.count() / static_cast<double>(made);
        const std::uint64_t left = status.steps - std::min(status.steps, status.step);
        line += "  " + number("%.2g", step_s) + " s per step";
        line += left > 0 ? "  ETA " + clock_text(step_s * static_cast<double>(left)) : "";
    }
    line += "  peers " + peers_text(peers_per_stage(status));
    if (line == line_) {
        return std::nullopt;
    }
    line_ = line;
    return line;
}

}  // namespace swarm::cli
