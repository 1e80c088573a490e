#include "swarm/cli/common/progress.hpp"

#include "swarm/cli/common/clock.hpp"
#include "swarm/run/layer_split.hpp"
#include "swarm/run/training/batch_growth.hpp"
#include "swarm/run/training/loop.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>
#include <variant>

namespace swarm::cli {
namespace {

constexpr std::size_t kLatest = 9;
constexpr std::size_t kEnough = 3;  // steps, from which the time of the others is estimated

std::string format(const char* pattern, double value) {
    char text[32];
    std::snprintf(text, sizeof text, pattern, value);
    return text;
}

std::string rate_text(double per_second) {
    return per_second < 10'000 ? format("%.0f", per_second)
                               : format("%.1f", per_second / 1000) + "k";
}

}  // namespace

std::string clock_text(double seconds) {
    const auto whole = std::llround(seconds);
    char text[32];
    if (whole < 3600) {
        std::snprintf(text, sizeof text, "%lld:%02lld", whole / 60, whole % 60);
    } else {
        std::snprintf(text, sizeof text, "%lld h %02lld min", whole / 3600, whole / 60 % 60);
    }
    return text;
}

std::string peers_text(const std::vector<std::uint32_t>& peers_per_stage) {
    std::string text;
    for (const std::uint32_t peers : peers_per_stage) {
        text += (text.empty() ? "" : "+") + std::to_string(peers);
    }
    return text;
}

void Progress::show(const TrainReport& report) {
    std::visit([&](const auto& one) { show_one(one); }, report);
}

void Progress::show_one(const node::StepCommitted& step) {
    if (latest_s_.empty()) {
        const auto since = std::chrono::steady_clock::now() - began_;
        console_.info(
            "first step done " + format("%.1f", std::chrono::duration<double>(since).count()) +
            " s after " + (peers_per_stage_.empty() ? "the start" : "the last peer joined")
        );
    }
    latest_s_.push_back(in_seconds(step.took));
    if (latest_s_.size() > kLatest) {
        latest_s_.pop_front();
    }
    const double step_s = usual_seconds(latest_s_);
    std::optional<double> left_s;
    if (latest_s_.size() >= kEnough) {
        left_s = step_s * static_cast<double>(steps_ - std::min(steps_, step.step + 1));
    }
    const std::string line = progress_line(
        step,
        steps_,
        static_cast<double>(run::tokens_of(config_, step.step)) / step_s,
        left_s,
        peers_per_stage_
    );
    withheld_ = line + (run::is_looped(config_.loop, step.step) ? "  looped" : "") +
                (held_out_ ? "  held-out " + format("%.4f", *held_out_) : "") +
                (skipped_ > 0 ? "  skipped " + std::to_string(skipped_) : "");
    const bool is_last = step.step + 1 >= steps_;
    if (console_.is_terminal() || pace_.admits(clock_now()) || is_last) {
        finish();
    }
    if (const auto rise = watch_.add(step.step, step.loss)) {
        finish();
        console_.warn(
            "the loss diverges at step " + std::to_string(step.step + 1) + ": " + rise->text() +
            "; a lower optimizer.learning_rate or clip_norm may help"
        );
    }
}

void Progress::finish() {
    if (!withheld_.empty()) {
        console_.status(std::exchange(withheld_, {}));
    }
}

void Progress::show_one(const StagesCut& cut) {
    console_.info(
        "the stages get " + run::to_text(cut.layers_per_stage) + " layers from step " +
        std::to_string(cut.step + 1) + " on: all peers download the checkpoint"
    );
}

void Progress::show_one(const HeldOutFound& found) {
    held_out_ = found.loss;
    std::string line = "step " + std::to_string(found.step) + ": held-out " +
                       format("%.4f", found.loss) + (found.is_best ? ", the best so far" : "");
    for (std::size_t i = 0; i < found.texts.size() && found.texts.size() > 1; ++i) {
        line += (i == 0 ? " (" : ", ") + found.texts[i].name + " " +
                format("%.4f", found.texts[i].loss);
    }
    finish();
    console_.info(line + (found.texts.size() > 1 ? ")" : ""));
}

void Progress::show_one(const PatienceOver& over) {
    finish();
    console_.info(
        "the run ends after step " + std::to_string(over.step) + ": " + over.reason +
        " (eval.patience); `swarm train --resume` goes on with another value of it"
    );
}

void Progress::show_one(const node::StepSkipped& skip) {
    ++skipped_;
    console_.warn(
        "step " + std::to_string(skip.step + 1) + "/" + std::to_string(steps_) +
        " skipped, the weights stay as they are: " + skip.reason
    );
}

void Progress::show_one(const node::ShareLost& lost) {
    console_.warn(
        "peer " + short_name(lost.peer) + ", stage " + std::to_string(lost.stage.value) +
        ": lost with the " + std::to_string(lost.microbatches) +
        " microbatches that it has trained on since the last exchange"
    );
}

void Progress::show_one(const node::PeerChanged& changed) {
    using node::PeerChange;
    peers_per_stage_ = changed.peers_per_stage;
    const std::string who = "peer " + short_name(changed.peer) + ", stage " +
                            std::to_string(changed.stage.value) + ": ";
    const std::string why = changed.reason.empty() ? "" : " (" + changed.reason + ")";
    switch (changed.change) {
        case PeerChange::Admitted:
            if (latest_s_.empty()) {
                began_ = std::chrono::steady_clock::now();
            }
            console_.info(who + "joined" + why);
            break;
        case PeerChange::Observing:
            console_.info(who + "downloads the state" + why);
            break;
        case PeerChange::Left:
            console_.info(who + "left" + why);
            break;
        case PeerChange::Moved:
            console_.info(who + "changes its stage" + why);
            break;
        case PeerChange::Fenced:
            console_.warn(who + "fenced" + why);
            break;
        case PeerChange::Suspect:
            console_.warn(who + "does not answer" + why);
            break;
        case PeerChange::StageEmpty:
            console_.warn(who + "was the last of its stage; the run waits for it" + why);
            break;
    }
    const bool gone = changed.change == PeerChange::Left || changed.change == PeerChange::Moved ||
                      changed.change == PeerChange::Fenced;
    const std::uint32_t stage = changed.stage.value;
    if (gone && stage < peers_per_stage_.size() && peers_per_stage_[stage] == 0) {
        console_.warn(
            "stage " + std::to_string(stage) + " has no peer now; the run waits for one to join"
        );
    }
}

void Progress::show_one(const node::RunFinished& finished) {
    console_.info(
        "weights after step " + std::to_string(finished.version.step) + ": sha256 " +
        to_hex(finished.weights_sha256)
    );
}

double usual_seconds(const std::deque<double>& latest_s) {
    std::vector<double> sorted(latest_s.begin(), latest_s.end());
    const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2);
    std::nth_element(sorted.begin(), middle, sorted.end());
    return *middle;
}

std::string progress_line(
    const node::StepCommitted& step,
    std::uint64_t steps,
    double tokens_per_s,
    std::optional<double> seconds_left,
    const std::vector<std::uint32_t>& peers_per_stage
) {
    std::string line = "step " + std::to_string(step.step + 1) + "/" + std::to_string(steps) +
                       "  loss " + format("%.4f", step.loss) + "  " + rate_text(tokens_per_s) +
                       " tokens/s";
    if (seconds_left) {
        line += "  ETA " + clock_text(*seconds_left);
    }
    if (!peers_per_stage.empty()) {
        line += "  peers " + peers_text(peers_per_stage);
    }
    if (!step.codecs.empty()) {
        line += "  codecs " + step.codecs;
    }
    if (step.replayed > 0) {
        line += "  replayed " + std::to_string(step.replayed);
    }
    return line;
}

}  // namespace swarm::cli
