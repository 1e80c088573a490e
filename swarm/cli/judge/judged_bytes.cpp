#include "swarm/cli/judge/judged_bytes.hpp"

#include "swarm/base/try.hpp"
#include "swarm/cli/judge/judged_alignment.hpp"
#include "swarm/cli/runs/run_summary.hpp"
#include "swarm/run/partition.hpp"
#include "swarm/run/step_time.hpp"

#include <algorithm>

namespace swarm::cli {
namespace {

constexpr double kSlowLineBytesPerS = 1e6;

std::uint64_t trained_parameters(const run::RunConfig& config) {
    std::uint64_t sum = 0;
    for (const run::StageLayout& stage : run::partition(config)) {
        sum += stage.elements();
    }
    return sum;
}

}  // namespace

Result<double> reduced_bytes(
    const std::filesystem::path& folder,
    const std::vector<Training>& trainings,
    std::size_t machines
) {
    double bytes = 0;
    for (const Training& training : trainings) {
        if (training.text != JudgedText::All) {
            continue;
        }
        SWARM_TRY(const RunFiles run, read_run_files(folder / training.name));
        const double of_step = run::sync_bytes(
            run::SyncMode::Exact,
            trained_parameters(run.config),
            static_cast<std::uint32_t>(machines),
            kSlowLineBytesPerS
        );
        bytes += of_step * static_cast<double>(training.steps);
    }
    return bytes;
}

Result<double> aligned_bytes(
    const std::filesystem::path& member, std::uint64_t tokens, std::size_t machines
) {
    SWARM_TRY(const RunFiles run, read_run_files(member));
    const std::uint64_t rows = std::min(tokens, kAlignedTokensMax);
    const std::uint64_t bytes = 2 * rows * run.config.model.width * sizeof(float);
    return static_cast<double>(bytes) / static_cast<double>(machines);
}

}  // namespace swarm::cli
