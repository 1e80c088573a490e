#include "swarm/cli/stack/fisher.hpp"

#include "stacking/composition/fisher_diagonal.hpp"
#include "swarm/base/try.hpp"
#include "swarm/cli/compute/compute_factory.hpp"
#include "swarm/cli/compute/machine_memory.hpp"
#include "swarm/cli/compute/threads.hpp"
#include "swarm/cli/stack/held_out.hpp"
#include "swarm/cli/stack/member_part.hpp"
#include "swarm/cli/terminal/console.hpp"
#include "swarm/cli/terminal/usage.hpp"
#include "swarm/run/partition.hpp"

#include <algorithm>
#include <memory>
#include <span>
#include <utility>

namespace swarm::cli {
namespace {

using stacking::composition::FisherDiagonal;
using stacking::composition::FisherWindow;
using stacking::composition::HeadMatrix;
using stacking::models::FisherPart;
using stacking::models::ModelSource;

/// Bytes per value while a member is measured: its weights, LibTorch's copy of them, and a gradient
/// twice.
constexpr std::uint64_t kMeasuredBytes = 16;

Error about(const std::string& name, const Error& error) {
    return {error.code, Reaction::Reject, name + ": " + error.detail};
}

HeadMatrix head_of(const run::RunConfig& config) {
    return config.model.tied_embeddings ? HeadMatrix::Tied : HeadMatrix::Own;
}

/// Returns the runs of all members, whose windows have as many positions as all can be trained on.
Result<std::vector<run::RunConfig>> fisher_runs(const AverageMembers& members) {
    std::vector<run::RunConfig> runs;
    std::uint32_t context = kFisherWindow;
    for (std::size_t i = 0; i < members.models.size(); ++i) {
        SWARM_TRY(
            run::RunConfig config, fisher_run(members.names[i], members.models[i]->architecture())
        );
        context = std::min(context, config.model.context);
        runs.push_back(std::move(config));
    }
    for (run::RunConfig& config : runs) {
        config.model.context = context;
    }
    return runs;
}

/// Measures one member. An error does not name it.
Result<FisherDiagonal> measure(
    const ModelSource& model,
    const std::string& name,
    const run::RunConfig& config,
    std::span<const FisherWindow> windows,
    const stages::ComputeFactory& make_compute,
    Console& console
) {
    const run::StageLayout layout = run::partition(config).front();
    SWARM_TRY(const std::vector<float> weights, model.read_stage(layout));
    SWARM_TRY(const std::unique_ptr<stages::StageCompute> compute, make_compute(config, layout));
    compute->use_weights(weights);
    const auto tell = [&](std::size_t done) {
        if (console.is_terminal()) {
            console.status(
                name + ": " + std::to_string(done) + " of " + std::to_string(windows.size()) +
                " windows"
            );
        }
    };
    auto measured =
        stacking::composition::fisher_diagonal(*compute, layout, head_of(config), windows, tell);
    console.settle();
    return measured;
}

}  // namespace

Result<run::RunConfig> fisher_run(
    const std::string& name, const stacking::models::Architecture& architecture
) {
    return member_run(name, architecture, {kFisherWindow, 1});
}

Result<> check_fisher_memory(
    std::size_t members, const run::RunConfig& config, std::uint64_t machine_bytes
) {
    const std::uint64_t values = run::partition(config).front().elements();
    const std::uint64_t again = config.model.tied_embeddings ? run::tied_elements(config) : 0;
    const std::uint64_t needed = members * 4 * (values - again) + kMeasuredBytes * values;
    if (needed <= machine_bytes) {
        return {};
    }
    constexpr std::uint64_t kMebibyte = 1 << 20;
    return Error{
        ErrorCode::Mismatch,
        Reaction::Reject,
        "the Fisher information of " + std::to_string(members) + " models needs " +
            std::to_string((needed + kMebibyte - 1) / kMebibyte) +
            " MiB beside activations, and this machine has " +
            std::to_string(machine_bytes / kMebibyte) +
            " MiB for this process; average fewer models at once, or use --by loss"};
}

Result<AverageByFisher> average_by_fisher(
    const AverageMembers& members, const HeldOutOptions& options, Console& console
) {
    SWARM_TRY(const std::vector<run::RunConfig> runs, fisher_runs(members));
    SWARM_TRY(check_fisher_memory(runs.size(), runs.front(), machine_memory_bytes()));
    SWARM_TRY(const HeldOutTexts held_out, read_held_out(options, members.tokenizer, console));
    const std::uint32_t context = runs.front().model.context;
    if (held_out.before.size() > context) {
        return usage("a context of " + std::to_string(context) + " tokens has no room for a text");
    }
    const std::vector<FisherWindow> windows =
        stacking::composition::fisher_windows(held_out.texts, held_out.before, context);
    const auto make_compute = make_compute_factory("cpu", threads_to_train(options.threads));
    std::vector<FisherPart> parts;
    std::vector<double> losses;
    for (std::size_t i = 0; i < runs.size(); ++i) {
        const std::string& name = members.names[i];
        auto measured = measure(*members.models[i], name, runs[i], windows, make_compute, console);
        if (!measured) {
            return about(name, measured.error());
        }
        parts.push_back({members.models[i], std::move(measured->values)});
        losses.push_back(measured->loss);
    }
    const auto tensors = stacking::composition::fisher_tensors(
        run::partition(runs.front()).front(), head_of(runs.front())
    );
    SWARM_TRY(auto average, fisher_average_of(std::move(parts), tensors));
    return AverageByFisher{std::move(average), std::move(losses)};
}

}  // namespace swarm::cli
