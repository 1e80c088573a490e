#include "swarm/cli/answer/prompt_progress.hpp"

#include "swarm/cli/common/clock.hpp"

namespace swarm::cli {
namespace {

constexpr double kFirstAfterS = 1;
constexpr double kOnTerminalEveryS = 0.2;
constexpr double kElsewhereEveryS = 10;

double prompt_clock_s() {
    return in_seconds(clock_now().time_since_epoch());
}

}  // namespace

PromptProgress::PromptProgress(ShownOn shown_on, double now_s)
    : every_s_(shown_on == ShownOn::Terminal ? kOnTerminalEveryS : kElsewhereEveryS),
      due_s_(now_s + (shown_on == ShownOn::Terminal ? kFirstAfterS : kElsewhereEveryS)) {}

std::optional<std::string> PromptProgress::line(
    std::size_t read, std::size_t tokens, double now_s
) {
    if (now_s < due_s_) {
        return std::nullopt;
    }
    due_s_ = now_s + every_s_;
    return "prompt: " + std::to_string(read) + " of " + std::to_string(tokens) + " tokens read";
}

PromptStatus::PromptStatus(Console& console)
    : console_(console),
      progress_(console.is_terminal() ? ShownOn::Terminal : ShownOn::File, prompt_clock_s()) {}

void PromptStatus::show(std::size_t read, std::size_t tokens) {
    if (const auto line = progress_.line(read, tokens, prompt_clock_s())) {
        console_.status(*line);
    }
}

}  // namespace swarm::cli
