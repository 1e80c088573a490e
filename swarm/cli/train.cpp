#include "swarm/cli/train.hpp"

#include "swarm/cli/exit_code.hpp"
#include "swarm/cli/run_setup.hpp"
#include "swarm/cli/training_text.hpp"
#include "swarm/cli/verbs.hpp"

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <string_view>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace swarm::cli {
namespace {

void write_all(int descriptor, std::string_view text) {
    while (!text.empty()) {
        const ssize_t written = ::write(descriptor, text.data(), text.size());
        if (written < 0 && errno == EINTR) {
            continue;
        }
        if (written < 0) {
            return;  // nobody listens any more
        }
        text.remove_prefix(static_cast<std::size_t>(written));
    }
}

/// Losses are per token, so those of two tokenizers are told apart by what a token holds.
std::string line_of(const std::string& tokenizer, const TrainingText& text) {
    char ratio[32];
    const double tokens = static_cast<double>(text.corpus.size());
    std::snprintf(ratio, sizeof ratio, "%.3f", static_cast<double>(text.bytes) / tokens);
    return tokenizer + ": " + std::to_string(text.corpus.size()) + " tokens, " + ratio +
           " bytes each; a loss divided by that is in nats per byte";
}

}  // namespace

TrainReports::TrainReports(
    Console& console, const TrainOptions& options, const run::RunConfig& config
)
    : console_(console),
      json_file_(options.json_file),
      reports_fd_(options.reports_fd),
      progress_(console, config),
      gathered_(config) {}

void TrainReports::add(const TrainReport& report) {
    progress_.show(report);
    gathered_.add(report, clock_now());
    if (reports_fd_ >= 0) {
        write_all(reports_fd_, to_line(report));
    }
}

bool TrainReports::finish() {
    if (gathered_.weights()) {
        std::cout << gathered_.summary() << std::endl;
    }
    return json_file_.empty() || write_text(console_, json_file_, gathered_.to_json());
}

int end_with(Console& console, const Error& error) {
    console.error(error.detail);
    return error.reaction == Reaction::Reject ? kRejected : kRunFailed;
}

bool write_text(Console& console, const std::string& file, const std::string& text) {
    errno = 0;
    std::ofstream out(file, std::ios::binary);
    out << text;
    out.close();
    if (!out) {
        const std::string reason = std::generic_category().message(errno);
        console.error("cannot write " + file + ": " + reason + "; name another file");
    }
    return static_cast<bool>(out);
}

TimePoint clock_now() {
    return TimePoint(
        std::chrono::duration_cast<Duration>(std::chrono::steady_clock::now().time_since_epoch())
    );
}

int train(const TrainOptions& options) {
    Console console;
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
