#include "swarm/cli/eval/eval_progress.hpp"

#include "swarm/cli/common/clock.hpp"

#include <cmath>
#include <cstdio>
#include <utility>

namespace swarm::cli {
namespace {

constexpr Duration kEvalFirstAfter = std::chrono::seconds(1);
constexpr Duration kEvalOnTerminalEvery = std::chrono::milliseconds(200);
constexpr Duration kEvalElsewhereEvery = std::chrono::seconds(10);

/// "6:49"
std::string minutes_and_seconds(double seconds) {
    const auto whole = static_cast<unsigned long long>(std::ceil(seconds));
    char text[40];
    std::snprintf(text, sizeof text, "%llu:%02llu", whole / 60, whole % 60);
    return text;
}

}  // namespace

std::string eval_progress_line(
    const std::string& name,
    const char* unit,
    std::uint64_t done,
    std::uint64_t all,
    double seconds
) {
    std::string line =
        name + ": " + std::to_string(done) + " of " + std::to_string(all) + " " + unit;
    if (done > 0 && seconds > 0) {
        const double rate = static_cast<double>(done) / seconds;
        char text[48];
        std::snprintf(text, sizeof text, ", %.1f %s/s, ", rate, unit);
        line += text + minutes_and_seconds(static_cast<double>(all - done) / rate) + " left";
    }
    return line;
}

EvalProgress::EvalProgress(
    Console& console, std::string name, const char* unit, std::uint64_t all
)
    : console_(console),
      name_(std::move(name)),
      unit_(unit),
      all_(all),
      began_(clock_now()),
      due_(began_ + (console.is_terminal() ? kEvalFirstAfter : kEvalElsewhereEvery)) {}

void EvalProgress::show(std::uint64_t done) {
    const TimePoint now = clock_now();
    if (now < due_) {
        return;
    }
    due_ = now + (console_.is_terminal() ? kEvalOnTerminalEvery : kEvalElsewhereEvery);
    console_.status(eval_progress_line(name_, unit_, done, all_, seconds()));
}

double EvalProgress::seconds() const {
    return in_seconds(clock_now() - began_);
}

}  // namespace swarm::cli
