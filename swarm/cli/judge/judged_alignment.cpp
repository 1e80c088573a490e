#include "swarm/cli/judge/judged_alignment.hpp"

#include "stacking/composition/alignment/state_shard.hpp"
#include "swarm/cli/stack/alignment/align.hpp"
#include "swarm/cli/terminal/exit_code.hpp"

#include <algorithm>
#include <system_error>

namespace swarm::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kBatchesLeast = 4;  // in each text

fs::path beside(const fs::path& folder, const char* end) {
    return folder.string() + end;
}

bool is_whole(const fs::path& folder) {
    std::error_code ignored;
    return fs::exists(folder / stacking::composition::kManifestName, ignored);
}

StackStatesOptions states_of(
    const JudgedAlignment& wanted,
    const run::RunConfig& config,
    const std::vector<std::string>& texts
) {
    StackStatesOptions options;
    options.model = wanted.first.string();
    options.folder = beside(wanted.folder, "-states").string();
    options.texts = texts;
    options.window = config.model.context;
    options.batch = std::min(config.batch, stacking::composition::kShardSequences);
    options.threads = wanted.threads;
    const std::uint64_t least = kBatchesLeast * options.batch * (std::uint64_t{options.window} + 1);
    const std::uint64_t most = std::max(least, kAlignedTokensMax / texts.size());
    options.tokens =
        static_cast<std::uint32_t>(std::clamp(wanted.tokens / texts.size(), least, most));
    return options;
}

int write_missing_states(const StackStatesOptions& options) {
    return is_whole(options.folder) ? kDone : write_states(options);
}

int write_missing_targets(const JudgedAlignment& wanted, const std::string& states) {
    StackTargetsOptions options;
    options.model = wanted.second.string();
    options.states = states;
    options.folder = beside(wanted.folder, "-targets").string();
    options.seed = wanted.seed;
    options.threads = wanted.threads;
    return is_whole(options.folder) ? kDone : write_targets(options);
}

}  // namespace

bool is_aligned(const JudgedAlignment& wanted) {
    std::error_code ignored;
    return fs::exists(wanted.folder, ignored);
}

int align_judged(
    const JudgedAlignment& wanted,
    const run::RunConfig& config,
    const std::vector<std::string>& texts
) {
    const StackStatesOptions states = states_of(wanted, config, texts);
    if (const int code = write_missing_states(states); code != kDone) {
        return code;
    }
    if (const int code = write_missing_targets(wanted, states.folder); code != kDone) {
        return code;
    }
    StackAlignOptions options;
    options.model = wanted.first.string();
    options.targets = beside(wanted.folder, "-targets").string();
    options.folder = wanted.folder.string();
    const std::uint64_t per_step = std::uint64_t{states.batch} * states.window;
    options.steps =
        static_cast<std::uint32_t>(std::max<std::uint64_t>(1, wanted.tokens / per_step));
    options.seed = wanted.seed;
    options.threads = wanted.threads;
    const int code = align_member(options);
    if (code == kDone) {
        std::error_code ignored;
        fs::remove_all(states.folder, ignored);
        fs::remove_all(options.targets, ignored);
    }
    return code;
}

}  // namespace swarm::cli
