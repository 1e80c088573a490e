#include "swarm/cli/train/run_choices.hpp"

#include "swarm/base/try.hpp"
#include "swarm/net/file_store.hpp"
#include "swarm/run/partition.hpp"

#include <algorithm>
#include <filesystem>
#include <numeric>
#include <utility>

namespace swarm::cli {
namespace {

Error unusable(const std::string& folder, const std::string& why) {
    return {ErrorCode::Usage, Reaction::Reject, "--codecs-from " + folder + ": " + why};
}

bool fits(const coordinator::SplitChange& change, const run::RunConfig& config) {
    const std::vector<std::uint32_t>& layers = change.layers_per_stage;
    if (config.expert_stages > 1) {
        return layers == run::layers_of(run::partition(config));  // such a cut stays
    }
    const auto sum = std::accumulate(layers.begin(), layers.end(), std::uint64_t{0});
    return layers.size() == config.stages && sum == config.model.layers &&
           std::find(layers.begin(), layers.end(), 0U) == layers.end();
}

Result<coordinator::RunHistory> read_history(const std::string& folder) {
    if (!std::filesystem::exists(std::filesystem::path(folder) / "run.toml")) {
        return unusable(folder, "there is no run");
    }
    SWARM_TRY(const net::FileStore store, net::FileStore::open(folder));
    SWARM_TRY(const std::vector<std::string> records, store.load());
    return coordinator::replay_log(records);
}

}  // namespace

Result<RunChoices> read_run_choices(const std::string& folder, const run::RunConfig& config) {
    if (folder.empty()) {
        return RunChoices();
    }
    if (!run::chooses_codecs(config) && config.split != run::SplitMode::Measured) {
        return unusable(
            folder,
            "this run chooses nothing: its codec is " + config.codec.text() + ", its split fixed"
        );
    }
    SWARM_TRY(coordinator::RunHistory history, read_history(folder));
    const std::size_t legs = run::first_codecs(config).size();
    const auto same_legs = [&](const auto& change) { return change.codecs.size() == legs; };
    const auto same_model = [&](const auto& change) { return fits(change, config); };
    if (!std::all_of(history.codecs.begin(), history.codecs.end(), same_legs) ||
        !std::all_of(history.splits.begin(), history.splits.end(), same_model)) {
        return unusable(folder, "that run has another number of stages or layers");
    }
    return RunChoices{std::move(history.codecs), std::move(history.splits)};
}

}  // namespace swarm::cli
