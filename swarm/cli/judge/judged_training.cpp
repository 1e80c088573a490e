#include "swarm/cli/judge/judged_training.hpp"

#include "swarm/base/try.hpp"
#include "swarm/cli/answer/open_model.hpp"
#include "swarm/cli/runs/run_summary.hpp"

#include <chrono>
#include <string>

namespace swarm::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kSeedsBetween = 100;  // distance of two seeds of a judge

/// The layers behind which the head answers: all parts of the model have the same number.
Result<std::string> exits_text(const fs::path& model, std::size_t parts) {
    SWARM_TRY(const OpenModel opened, open_model(model.string()));
    const std::size_t layers = opened.source.architecture().model.layers;
    std::string text;
    for (std::size_t part = 1; part < parts; ++part) {
        text += (part > 1 ? "," : "") + std::to_string(layers * part / parts);
    }
    return text;
}

}  // namespace

Result<TrainOptions> training_options(const JudgedTraining& wanted) {
    const Training& training = wanted.training;
    TrainOptions options;
    options.single = true;
    options.directory = (wanted.folder / training.name).string();
    options.threads = wanted.judge.threads;
    options.log_every = std::chrono::minutes(1);
    options.run.steps = training.steps;
    options.run.seed = wanted.seed * kSeedsBetween + training.number + 1;
    options.run.corpus = wanted.text.string();
    options.run.stages = 1;
    if (!training.from.empty()) {
        options.run.init = fs::absolute(wanted.folder / training.from).string();
    } else if (!wanted.judge.init.empty()) {
        options.run.init = wanted.judge.init;
    }
    for (const auto& setting : wanted.judge.settings) {
        if (!options.run.init || !is_shape(setting.first)) {  // a model to begin with has the shape
            options.run.settings.push_back(setting);
        }
    }
    auto& settings = options.run.settings;
    if (!training.freeze.empty()) {
        settings.emplace_back("train.freeze", training.freeze);
    }
    if (training.loop_every > 0) {
        settings.emplace_back("loop.every", std::to_string(training.loop_every));
    }
    if (training.exit_parts > 1) {
        SWARM_TRY(const auto exits, exits_text(wanted.folder / training.from, training.exit_parts));
        settings.emplace_back("train.exits", exits);
    }
    if (training.batches > 1) {
        SWARM_TRY(const RunFiles base, read_run_files(wanted.folder / kJudgedBase));
        const std::uint64_t microbatches =
            std::uint64_t{base.config.microbatches} * training.batches;
        settings.emplace_back("run.microbatches", std::to_string(microbatches));
    }
    return options;
}

}  // namespace swarm::cli
