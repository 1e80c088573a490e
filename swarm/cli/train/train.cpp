#include "swarm/cli/train/train.hpp"

#include "swarm/base/try.hpp"
#include "swarm/cli/compute/machine_memory.hpp"
#include "swarm/cli/setup/run_setup.hpp"
#include "swarm/cli/setup/training_text.hpp"
#include "swarm/cli/terminal/console.hpp"
#include "swarm/cli/terminal/exit_code.hpp"
#include "swarm/cli/terminal/usage.hpp"
#include "swarm/cli/train/coordinate.hpp"
#include "swarm/cli/train/run_choices.hpp"
#include "swarm/cli/train/run_directory.hpp"
#include "swarm/cli/train/train_single.hpp"
#include "swarm/run/memory_plan.hpp"
#include "swarm/run/run_file/run_reference.hpp"
#include "swarm/run/training/batch_growth.hpp"

#include <algorithm>
#include <cstdio>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

namespace swarm::cli {
namespace {

// Where people find later what has changed. The log has no place for other settings.
constexpr const char* kRecord =
    "on record: run.toml has the new values, and the log the learning rate of each step";
constexpr const char* kRecordAlone =
    "on record: run.toml has the new values, and metrics.jsonl the learning rate of each step";

bool has_chats(const TrainingText& text) {
    return text.rows && std::ranges::any_of(
                            text.rows->data().manifest().sources,
                            [](const data::ManifestSource& source) {
                                return source.no_loss_tokens > 0;
                            }
                        );
}

/// Losses are per token, so the line tells how many bytes a token of this tokenizer holds.
std::string line_of(const std::string& tokenizer, const TrainingText& text) {
    char ratio[32];
    const double tokens = static_cast<double>(text.tokens);
    std::snprintf(ratio, sizeof ratio, "%.3f", static_cast<double>(text.bytes) / tokens);
    return tokenizer + ": " + std::to_string(text.tokens) + " tokens, " + ratio + " bytes each" +
           (has_chats(text) ? "; the loss is that of answers alone"
                            : "; a loss divided by that is in nats per byte");
}

/// "data: 3 sources, 4,312 samples of 128 tokens; an epoch has 134.8 steps"
std::string line_of(const run::RunConfig& config, const DataRows& rows) {
    const std::uint64_t samples = rows.samples().per_epoch();
    const double steps =
        config.first_microbatches == 0
            ? static_cast<double>(samples) / config.batch / config.microbatches
            : static_cast<double>(run::steps_with_tokens(config, samples * config.model.context));
    const std::size_t sources = rows.data().manifest().sources.size();
    char text[160];
    std::snprintf(
        text,
        sizeof text,
        "data: %zu source%s, %s samples of %u tokens; all of them are %.1f steps",
        sources,
        sources == 1 ? "" : "s",
        std::to_string(samples).c_str(),
        config.model.context,
        steps
    );
    return text;
}

int print_toml(const TrainOptions& options, Console& console) {
    Result<run::RunConfig> config = resolve_run(options.run_file, options.run);
    if (!config) {
        return end_with(console, config.error());
    }
    if (!config->corpus.empty()) {  // the text may become a file of any folder
        const auto folder = corpus_folder(options.run_file, options.run);
        config->corpus = find_corpus(config->corpus, folder).path.string();
    }
    for (std::string& text : config->eval.texts) {
        text = (held_out_folder(options.run_file, options.run) / text).string();
    }
    std::cout << run::documented_toml(*config) << std::flush;
    return kDone;
}

void warn_of(RunDirectory& directory, Console& console) {
    for (const std::string& notice : std::exchange(directory.notices, {})) {
        console.warn(notice);
    }
}

/// A person who lowers one of the rates may forget the other.
void warn_of_rising_rate(const run::OptimizerConfig& optimizer, Console& console) {
    if (optimizer.schedule == run::Schedule::Constant ||
        optimizer.final_learning_rate <= optimizer.learning_rate) {
        return;
    }
    char text[160];
    std::snprintf(
        text,
        sizeof text,
        "optimizer.final_learning_rate (%g) is above optimizer.learning_rate (%g): the rate rises "
        "towards the end of the run",
        optimizer.final_learning_rate,
        optimizer.learning_rate
    );
    console.warn(text);
}

Result<> check_flags(const TrainOptions& options, const run::RunConfig& config) {
    if (config.mode == run::SyncMode::Exact && (options.beside_exact || options.lose_every > 0)) {
        return usage("--beside-exact and --lose-every are for mode sparse; add --mode sparse");
    }
    if (options.lose_every > 0 && run::replicas_alone(config) < 2) {
        return usage("--lose-every needs two replicas of each stage; add --replicas 2");
    }
    return {};
}

Result<> check_memory(const TrainOptions& options, const run::RunConfig& config) {
    const std::uint64_t needed =
        options.single ? run::single_process_bytes(config) : run::all_state_bytes(config);
    const std::uint64_t machine = machine_memory_bytes();
    if (needed <= machine) {
        return {};
    }
    return Error{
        ErrorCode::Mismatch,
        Reaction::Reject,
        run::too_large_for_machine(
            options.single ? "training in one process" : "a checkpoint of this run", needed, machine
        )};
}

/// Loads the text, judges what has changed, and only then writes to the folder.
Result<TrainingText> settle(
    RunDirectory& directory, const TrainOptions& options, Console& console
) {
    SWARM_TRY(load_first_states(directory));
    SWARM_TRY(TrainingText text, load_run_text(directory, options));
    warn_of(directory, console);
    SWARM_TRY(const std::vector<std::string> changes, settle_changes(directory, options));
    for (const std::string& change : changes) {
        console.info(change);
    }
    warn_of_rising_rate(directory.config.optimizer, console);
    if (!changes.empty()) {
        console.info(options.single ? kRecordAlone : kRecord);
    }
    if (directory.ended) {
        console.info(to_text(*directory.ended, directory.config.eval.patience));
    }
    if (!text.tokenizer.empty()) {
        console.info(line_of(directory.config.tokenizer, text));
    }
    if (text.rows) {
        console.info(line_of(directory.config, *text.rows));
    }
    directory.tokenizer = std::move(text.tokenizer);
    SWARM_TRY(write_run_files(directory));
    if (directory.begins) {
        console.info("begins with the weights of " + directory.config.init);
    }
    SWARM_TRY(write_first_checkpoint(directory));
    return text;
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
    warn_of(*directory, console);
    if (const Result<> checked = check_flags(options, directory->config); !checked) {
        console.error(checked.error().detail);
        return kUsage;
    }
    if (const Result<> checked = check_memory(options, directory->config); !checked) {
        return end_with(console, checked.error());
    }
    Result<TrainingText> text = settle(*directory, options, console);
    if (!text) {
        return end_with(console, text.error());
    }
    return options.single
               ? train_single(options, std::move(*directory), *choices, std::move(*text), console)
               : coordinate(options, std::move(*directory), *text, console);
}

}  // namespace swarm::cli
