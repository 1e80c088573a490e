#include "swarm/cli/train/train.hpp"

#include "swarm/cli/common/run_setup.hpp"
#include "swarm/cli/common/training_text.hpp"
#include "swarm/cli/terminal/console.hpp"
#include "swarm/cli/terminal/exit_code.hpp"
#include "swarm/cli/train/coordinate.hpp"
#include "swarm/cli/train/run_choices.hpp"
#include "swarm/cli/train/run_directory.hpp"
#include "swarm/cli/train/train_single.hpp"
#include "swarm/run/run_file/run_reference.hpp"

#include <cstdio>
#include <iostream>
#include <utility>

namespace swarm::cli {
namespace {

/// Losses are per token, so the line tells how many bytes a token of this tokenizer holds.
std::string line_of(const std::string& tokenizer, const TrainingText& text) {
    char ratio[32];
    const double tokens = static_cast<double>(text.corpus.size());
    std::snprintf(ratio, sizeof ratio, "%.3f", static_cast<double>(text.bytes) / tokens);
    return tokenizer + ": " + std::to_string(text.corpus.size()) + " tokens, " + ratio +
           " bytes each; a loss divided by that is in nats per byte";
}

int print_toml(const TrainOptions& options, Console& console) {
    const Result<run::RunConfig> config = resolve_run(options.run_file, options.run);
    if (!config) {
        return end_with(console, config.error());
    }
    std::cout << run::documented_toml(*config) << std::flush;
    return kDone;
}

}  // namespace

int train(const TrainOptions& options) {
    Console console;
    if (options.print_toml) {
        return print_toml(options, console);
    }
    Result<RunDirectory> directory = open_run_directory(options);
    if (!directory) {
        return end_with(console, directory.error());
    }
    const auto choices = read_run_choices(options.codecs_from, directory->config);
    if (!choices) {
        return end_with(console, choices.error());
    }
    for (const std::string& notice : directory->notices) {
        console.warn(notice);
    }
    const run::RunConfig& config = directory->config;
    if (config.mode == run::SyncMode::Exact && (options.beside_exact || options.lose_every > 0)) {
        console.error("--beside-exact and --lose-every are for mode sparse; add --mode sparse");
        return kUsage;
    }
    if (options.lose_every > 0 && run::replicas_alone(config) < 2) {
        console.error("--lose-every needs two replicas of each stage; add --replicas 2");
        return kUsage;
    }
    Result<TrainingText> text = load_text(directory->config, std::move(directory->tokenizer));
    if (!text) {
        return end_with(console, text.error());
    }
    if (!text->tokenizer.empty()) {
        console.info(line_of(directory->config.tokenizer, *text));
    }
    directory->tokenizer = std::move(text->tokenizer);
    if (const Result<> written = write_run_files(*directory); !written) {
        return end_with(console, written.error());
    }
    return options.single
               ? train_single(
                     options, std::move(*directory), *choices, std::move(text->corpus), console
                 )
               : coordinate(options, std::move(*directory), text->corpus, console);
}

}  // namespace swarm::cli
