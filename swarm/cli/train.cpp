#include "swarm/cli/train.hpp"

#include "swarm/cli/exit_code.hpp"
#include "swarm/cli/run_setup.hpp"
#include "swarm/cli/verbs.hpp"

#include <cerrno>
#include <chrono>
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
    for (const std::string& notice : directory->notices) {
        console.warn(notice);
    }
    Result<run::Corpus> corpus = load_corpus(directory->config);
    if (!corpus) {
        return end_with(console, corpus.error());
    }
    return options.single
               ? train_single(options, std::move(*directory), std::move(*corpus), console)
               : coordinate(options, std::move(*directory), *corpus, console);
}

}  // namespace swarm::cli
