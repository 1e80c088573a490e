#include "swarm/cli/local/serve_locally.hpp"

#include "stacking/row_coding.hpp"
#include "swarm/base/try.hpp"
#include "swarm/cli/answer/open_stack.hpp"
#include "swarm/cli/common/model_store.hpp"
#include "swarm/cli/local/local_service.hpp"
#include "swarm/cli/local/log_folder.hpp"
#include "swarm/cli/terminal/exit_code.hpp"
#include "swarm/cli/terminal/usage.hpp"

#include <utility>

namespace swarm::cli {
namespace {

/// Returns a given flag that means something for training only; nullopt: there is none.
std::optional<std::string> stray_flag(const LocalOptions& options) {
    const RunFlags& run = options.run;
    const std::pair<const char*, bool> flags[] = {
        {"run.toml", !options.run_file.empty()},
        {"--steps", run.steps.has_value()},
        {"--seed", run.seed.has_value()},
        {"--microbatches", run.microbatches.has_value()},
        {"--in-flight", run.in_flight.has_value()},
        {"--policy", run.policy.has_value()},
        {"--split", run.split.has_value()},
        {"--corpus", run.corpus.has_value()},
        {"--tokenizer", run.tokenizer.has_value()},
        {"--checkpoint-every", run.checkpoint_every.has_value()},
        {"--set", !run.settings.empty()},
        {"--churn", options.churn.has_value()},
        {"--cut-every", options.cut_every.has_value()},
        {"--demo", options.demo},
        {"--memory", options.memory_bytes > 0},
        {"--device", options.device != LocalOptions().device}};
    for (const auto& [name, given] : flags) {
        if (given) {
            return name;
        }
    }
    return std::nullopt;
}

/// Returns a given flag that means nothing for an endpoint; nullopt: there is none.
std::optional<std::string> flag_of_one_answer(const LocalOptions& options) {
    const std::pair<const char*, bool> flags[] = {
        {"--verify", options.verify},
        {"--json", !options.json_file.empty()},
        {"--path", !options.path.empty()},
        {"--exit", options.exit_threshold <= 1},
        {"--kill-at", !options.kill_at.empty()},
        {"--freeze-at", !options.freeze_at.empty()},
        {"--stop", !options.stops.empty()},
        {"--system", options.system.has_value()},
        {"--raw", options.raw},
        {"--ignore-eos", options.ignore_eos}};
    for (const auto& [name, given] : flags) {
        if (given) {
            return name;
        }
    }
    return std::nullopt;
}

/// Returns the parts to be served: the model, or the members of the stack, each once.
Result<std::vector<ServedPart>> parts_of(const LocalOptions& options) {
    if (options.stack.empty()) {
        SWARM_TRY(find_model(*options.run.model));
        return std::vector<ServedPart>{{*options.run.model}};
    }
    return parts_of_stack(options.stack);
}

}  // namespace

int serve_locally(const LocalOptions& options, Console& console) {
    if (const auto stray = stray_flag(options)) {
        const std::string served = options.stack.empty() ? *options.run.model : options.stack;
        return end_with(console, usage(*stray + " belongs to training; " + served + " is served"));
    }
    if (!options.prompt && !options.api) {
        return end_with(console, usage("a model of others answers: add --prompt \"...\" or --api"));
    }
    if (!options.http.empty()) {
        return end_with(
            console, usage("--http shows a run; the page of a model is that of --api (--port)")
        );
    }
    if (options.api) {
        if (const auto stray = flag_of_one_answer(options)) {
            return end_with(console, usage(*stray + " is of one answer; --api gives many"));
        }
    }
    if (options.run.codec && !stacking::parse_row_codecs(*options.run.codec)) {
        return end_with(
            console,
            usage(
                "--codec of what is served is auto, one of " + stacking::row_codec_names() +
                ", or A,B,... link by link"
            )
        );
    }
    const bool reordered =
        !options.path.empty() || options.exit_threshold <= 1 || options.run.codec;
    if (!options.stack.empty() && reordered) {
        return end_with(
            console, usage("--path, --exit and --codec are of a model's stages, not a stack's")
        );
    }
    Result<std::vector<ServedPart>> parts = parts_of(options);
    if (!parts) {
        return end_with(console, parts.error());
    }
    if (options.run.stages.value_or(1) * parts->size() > options.peers) {
        return end_with(
            console, usage("--peers is less than --stages of all models: each stage needs a peer")
        );
    }
    Result<LogFolder> folder = LogFolder::open(options.directory);
    if (!folder) {
        return end_with(console, folder.error());
    }
    const std::filesystem::path& directory = folder->path();
    const int exit_code = LocalService(options, std::move(*parts), directory, console).run();
    if (exit_code != kDone) {
        folder->keep(console);
    }
    return exit_code;
}

}  // namespace swarm::cli
