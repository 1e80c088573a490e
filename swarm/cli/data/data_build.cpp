#include "swarm/base/try.hpp"
#include "swarm/cli/common/clock.hpp"
#include "swarm/cli/common/files.hpp"
#include "swarm/cli/data/chat_encoder.hpp"
#include "swarm/cli/data/data.hpp"
#include "swarm/cli/data/data_report.hpp"
#include "swarm/cli/data/data_tokenizer.hpp"
#include "swarm/cli/terminal/console.hpp"
#include "swarm/cli/terminal/exit_code.hpp"
#include "swarm/cli/terminal/line_pace.hpp"
#include "swarm/cli/terminal/printable.hpp"
#include "swarm/cli/terminal/stop_presses.hpp"
#include "swarm/data/build.hpp"
#include "swarm/data/text_sample.hpp"

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <optional>

namespace swarm::cli {
namespace {

namespace fs = std::filesystem;

/// Bad lines that are named, each on a line of its own; the others are counted.
constexpr std::uint64_t kNamedBadLines = 20;

constexpr Duration kOnTerminalEvery = std::chrono::milliseconds(200);

volatile std::sig_atomic_t build_stop_signal = 0;
StopPresses build_presses;

/// A second press ends the process at once, which loses no whole shard either.
extern "C" void note_build_signal(int number) {
    const StopPress press = build_presses.note(clock_now());
    if (press == StopPress::Next) {
        std::_Exit(after_signal(number));
    }
    if (press == StopPress::First) {
        build_stop_signal = number;
    }
}

/// Shows how far a build is, and names bad lines.
class BuildReport {
 public:
    explicit BuildReport(Console& console)
        : console_(console),
          pace_(
              console.is_terminal() ? std::optional<Duration>(kOnTerminalEvery)
                                    : std::optional<Duration>(LinePace::kUsual)
          ) {}

    void show(const data::BuildProgress& progress) {
        const TimePoint now = clock_now();
        if (!bytes_before_) {
            bytes_before_ = progress.bytes;
            began_ = now;
            pace_.admits(now);
            return;
        }
        if (pace_.admits(now)) {
            console_.status(build_line(progress, *bytes_before_, in_seconds(now - began_)));
        }
    }

    void skip(const std::string& source, const data::BadLine& bad) {
        ++skipped_;
        if (skipped_ <= kNamedBadLines) {
            console_.info("source " + source + ": skipped " + bad.text());
        } else if (skipped_ == kNamedBadLines + 1) {
            console_.info("further bad lines are counted and not named");
        }
    }

 private:
    Console& console_;
    LinePace pace_;
    std::optional<std::uint64_t> bytes_before_;  // at the first report
    TimePoint began_{};
    std::uint64_t skipped_ = 0;
};

Result<data::Built> build(const DataBuildOptions& options, Console& console) {
    SWARM_TRY(const auto text, read_file(options.data_file, data::kDataFileBytesMax));
    SWARM_TRY(const auto data, data::parse_data_file(text, options.data_file));
    // The same folder by another name would make other inputs of the same files.
    std::error_code code;
    const fs::path file = fs::canonical(options.data_file, code);
    const fs::path inputs = code ? fs::path(".") : file.parent_path();
    const auto sample = [&](std::size_t bytes_max) {
        console.info("training the tokenizer " + data.tokenizer + " on the first texts");
        return data::text_sample(data, inputs, bytes_max);
    };
    SWARM_TRY(
        auto tokenizer, open_data_tokenizer(data.tokenizer, data.end_token, inputs, sample)
    );
    if (data.has_chats()) {
        SWARM_TRY(add_chat_template(data.chat_template, tokenizer));
    }
    BuildReport report(console);
    data::BuildEvents events;
    events.progress = [&](const data::BuildProgress& progress) { report.show(progress); };
    events.skipped = [&](const std::string& source, const data::BadLine& bad) {
        report.skip(source, bad);
    };
    events.note = [&](const std::string& what) { console.info(what); };
    events.is_to_stop = [] { return build_stop_signal != 0; };
    return build_data(data, tokenizer.encoder, {inputs, options.folder}, events);
}

}  // namespace

int build_data_folder(const DataBuildOptions& options) {
    Console console;
    std::signal(SIGINT, note_build_signal);
    std::signal(SIGTERM, note_build_signal);
    const auto built = build(options, console);
    std::signal(SIGINT, SIG_DFL);
    std::signal(SIGTERM, SIG_DFL);
    if (!built) {
        return end_with(console, built.error());
    }
    if (!built->is_whole) {
        console.warn(
            "stopped; " + options.folder + " keeps its whole shards, and the same command goes on"
        );
        return after_signal(build_stop_signal);
    }
    console.settle();
    if (built->new_shards == 0) {
        console.info(options.folder + " was built before");
    }
    std::cout << printable(data_text(built->manifest, built->digest)) << std::flush;
    if (!options.json_file.empty() &&
        !write_text(console, options.json_file, data_json(built->manifest, built->digest))) {
        return kRunFailed;
    }
    return kDone;
}

}  // namespace swarm::cli
