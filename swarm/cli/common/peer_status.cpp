#include "swarm/cli/common/peer_status.hpp"

#include <chrono>
#include <cmath>
#include <cstdio>

namespace swarm::cli {
namespace {

/// Rates are means over this time at least.
constexpr auto kMeasureFor = std::chrono::seconds(2);
constexpr double kMegabit = 1e6;

std::string to_text(const char* pattern, double value) {
    char text[48];
    std::snprintf(text, sizeof text, pattern, value);
    return text;
}

}  // namespace

std::optional<std::string> PeerStatus::line_of(
    const node::ServerStatus& status, const Traffic& traffic, TimePoint now
) {
    measure(traffic, now);
    const bool is_due = on_ == On::Terminal || status.text != said_ || now - said_at_ >= log_every_;
    if (!is_due) {
        return std::nullopt;
    }
    said_ = status.text;
    said_at_ = now;
    std::string line = "stage " + std::to_string(status.stage.value) + ", step " +
                       std::to_string(status.version.step) + ": " + status.text;
    if (status.lasts > Duration{}) {
        line += ", for " + to_text("%.0f s", std::floor(in_seconds(status.lasts)));
    }
    if (status.microbatches > 0) {
        line += "; added " + std::to_string(status.microbatches) + " microbatches";
        line += status.share > 0 ? to_text(", %.0f %% of the stage's", 100 * status.share) : "";
        line += to_text(", up %.1f", up_bits_per_s_ / kMegabit);
        line += to_text(", down %.1f Mb/s", down_bits_per_s_ / kMegabit);
    }
    line += status.loss ? to_text("; loss %.4f", *status.loss) : "";
    return line;
}

void PeerStatus::measure(const Traffic& traffic, TimePoint now) {
    if (measured_at_ == kNever) {
        measured_at_ = now;
        before_ = traffic;
        return;
    }
    if (now - measured_at_ < kMeasureFor) {
        return;
    }
    const double took_s = in_seconds(now - measured_at_);
    constexpr double kBits = 8;
    up_bits_per_s_ = kBits * static_cast<double>(traffic.sent_bytes - before_.sent_bytes) / took_s;
    down_bits_per_s_ =
        kBits * static_cast<double>(traffic.received_bytes - before_.received_bytes) / took_s;
    measured_at_ = now;
    before_ = traffic;
}

}  // namespace swarm::cli
