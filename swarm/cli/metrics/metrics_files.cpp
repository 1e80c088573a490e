#include "swarm/cli/metrics/metrics_files.hpp"

#include "swarm/base/try.hpp"
#include "swarm/base/units.hpp"
#include "swarm/run/step_scalars.hpp"
#include "swarm/run/training/batch_growth.hpp"
#include "swarm/run/training/loop.hpp"

#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>
#include <variant>

namespace swarm::cli {
namespace {

std::vector<Scalar> scalars_of(const StepMetrics& metrics) {
    std::vector<Scalar> scalars{
        {"lr", metrics.learning_rate},
        {"tokens_per_s", metrics.tokens_per_s},
        {"replayed", static_cast<double>(metrics.replayed)},
        {"fenced", static_cast<double>(metrics.fenced)}};
    if (metrics.loss) {
        scalars.push_back({"loss", *metrics.loss});
        scalars.push_back({"grad_norm", metrics.gradient_norm});
    }
    for (std::size_t stage = 0; stage < metrics.peers_per_stage.size(); ++stage) {
        scalars.push_back(
            {"peers/stage_" + std::to_string(stage),
             static_cast<double>(metrics.peers_per_stage[stage])}
        );
    }
    return scalars;
}

/// Cuts off what a killed process left of its last line.
bool cut_torn_line(int file) {
    const off_t size = ::lseek(file, 0, SEEK_END);
    off_t end = size;
    for (char letter = 0; end > 0; --end) {
        if (::pread(file, &letter, 1, end - 1) != 1) {
            return false;
        }
        if (letter == '\n') {
            break;
        }
    }
    return size >= 0 && (end == size || ::ftruncate(file, end) == 0);
}

}  // namespace

double unix_time_s() {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    return std::chrono::duration<double>(now).count();
}

void MetricsFiles::add(const TrainReport& report, double unix_time_s) {
    std::visit([&](const auto& one) { add_one(one, unix_time_s); }, report);
}

void MetricsFiles::add_one(const node::StepCommitted& step, double unix_time_s) {
    StepMetrics metrics;
    metrics.step = step.step + 1;
    metrics.unix_time_s = unix_time_s;
    metrics.seconds = in_seconds(step.took);
    if (std::isfinite(step.loss)) {
        metrics.loss = step.loss;
    }
    const auto tokens = static_cast<double>(run::tokens_of(config_, step.step));
    metrics.tokens_per_s = metrics.seconds > 0 ? tokens / metrics.seconds : 0;
    metrics.learning_rate = run::step_scalars(config_, step.step, {}).learning_rate;
    metrics.gradient_norm = step.gradient_norm;
    metrics.microbatches = step.counted;
    metrics.replayed = step.replayed;
    metrics.fenced = step.fenced;
    metrics.peers_per_stage = peers_;
    metrics.wire_bytes = step.wire_bytes;
    metrics.looped = run::is_looped(config_.loop, step.step);
    write(unix_time_s, metrics.step, to_line(metrics), scalars_of(metrics));
}

void MetricsFiles::add_one(const node::StepSkipped& skip, double unix_time_s) {
    StepMetrics metrics;
    metrics.step = skip.step + 1;
    metrics.unix_time_s = unix_time_s;
    metrics.seconds = in_seconds(skip.took);
    metrics.peers_per_stage = peers_;
    metrics.skipped = skip.reason;
    write(unix_time_s, metrics.step, to_line(metrics), scalars_of(metrics));
}

void MetricsFiles::add_one(const HeldOutFound& found, double unix_time_s) {
    std::vector<Scalar> scalars{{"eval_loss", found.loss}};
    for (const HeldOutFound::Text& text : found.texts) {
        scalars.push_back({"eval_loss/" + text.name, text.loss});
    }
    write(unix_time_s, found.step, to_line(found, unix_time_s), scalars);
}

void MetricsFiles::write(
    double unix_time_s,
    std::uint64_t step,
    const std::string& line,
    const std::vector<Scalar>& scalars
) {
    if (failed_) {
        return;
    }
    const auto written = [&]() -> Result<> {
        if (!events_) {
            SWARM_TRY(open(unix_time_s, step));
        }
        SWARM_TRY(append_to(lines_, lines_path_, line));
        return events_->add(unix_time_s, step, scalars);
    }();
    if (!written) {
        failed_ = true;
        console_.warn(written.error().detail + "; the run goes on without these figures");
    }
}

Result<> MetricsFiles::open(double unix_time_s, std::uint64_t step) {
    lines_path_ = (folder_ / kMetricsFile).string();
    SWARM_TRY(open_lines());
    SWARM_TRY(events_, EventFile::begin(folder_, unix_time_s, step));
    return {};
}

Result<> MetricsFiles::open_lines() {
    lines_ = FileDescriptor(::open(
        lines_path_.c_str(),
        O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC,
        S_IRUSR | S_IWUSR | S_IRGRP | S_IROTH
    ));
    if (!lines_.is_open() || !cut_torn_line(lines_.get())) {
        return Error{
            ErrorCode::StorageFailed,
            Reaction::Fatal,
            "cannot write " + lines_path_ + ": " + std::strerror(errno)};
    }
    return {};
}

}  // namespace swarm::cli
