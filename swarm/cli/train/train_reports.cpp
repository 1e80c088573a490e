#include "swarm/cli/train/train_reports.hpp"

#include "swarm/cli/common/clock.hpp"
#include "swarm/cli/common/files.hpp"
#include "swarm/cli/terminal/printable.hpp"

#include <cerrno>
#include <iostream>
#include <numbers>
#include <string_view>
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
            return;  // the starter does not listen any more
        }
        text.remove_prefix(static_cast<std::size_t>(written));
    }
}

}  // namespace

HeldOutFound describe(
    const run::RunConfig& config,
    std::span<const run::HeldOutText> texts,
    const run::HeldOutLosses& losses
) {
    HeldOutFound found{losses.step, losses.loss, losses.is_best, {}};
    for (std::size_t i = 0; i < texts.size(); ++i) {
        HeldOutFound::Text text{texts[i].name, losses.by_text.at(i)};
        const std::size_t row = std::size_t{config.model.context} + 1;
        const auto targets = static_cast<double>(texts[i].tokens.size() / row * (row - 1));
        if (texts[i].bytes > 0) {
            text.bits_per_byte = text.loss * targets * std::numbers::log2e /
                                 static_cast<double>(texts[i].bytes);
        }
        found.texts.push_back(std::move(text));
    }
    return found;
}

TrainReports::TrainReports(
    Console& console,
    const TrainOptions& options,
    const run::RunConfig& config,
    const std::filesystem::path& folder
)
    : console_(console),
      json_file_(options.json_file),
      reports_fd_(options.reports_fd),
      progress_(console, config, options.log_every),
      gathered_(config),
      metrics_(folder, config, console),
      state_(config) {}

void TrainReports::add(const TrainReport& report) {
    progress_.show(report);
    gathered_.add(report, clock_now());
    metrics_.add(report, unix_time_s());
    state_.add(report, clock_now());
    if (reports_fd_ >= 0) {
        write_all(reports_fd_, to_line(report));
    }
}

bool TrainReports::finish() {
    progress_.finish();
    if (gathered_.weights()) {
        console_.settle();
        std::cout << printable(gathered_.summary()) << std::endl;
    }
    return json_file_.empty() || write_text(console_, json_file_, gathered_.to_json());
}

}  // namespace swarm::cli
