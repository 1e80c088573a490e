#include "stages/own_speeds.hpp"

#include <chrono>

namespace stages {
namespace {

constexpr double kNewShare = 0.2;  // of the latest job in the mean

double seconds(swarm::Duration duration) {
    return std::chrono::duration<double>(duration).count();
}

}  // namespace

void LineMeter::turn_windows(TimePoint now) {
    if (now < window_began_ + kWindow) {
        return;
    }
    best_before_ = now < window_began_ + 2 * kWindow ? best_ : 0;
    best_ = 0;
    window_began_ = now;
}

void LineMeter::arrived(std::uint64_t bytes, Generation sent_in, TimePoint now) {
    if (sent_in != Generation{generation_} || under_way_ == 0) {
        return;  // forgotten
    }
    bytes_ += bytes;
    if (--under_way_ == 0 && bytes_ >= kBytesMin && now > began_) {
        turn_windows(now);
        best_ = std::max(best_, static_cast<double>(bytes_) / seconds(now - began_));
    }
}

double LineMeter::bytes_per_s(TimePoint now) {
    turn_windows(now);
    return std::max(best_, best_before_);
}

void OwnSpeeds::computed(protocol::Leg leg, TimePoint given, TimePoint now) {
    const double took_s = seconds(now - std::max(given, free_at_));
    free_at_ = now;
    double& mean_s = leg == protocol::Leg::Forward ? forward_s_ : backward_s_;
    mean_s = mean_s == 0 ? took_s : mean_s + kNewShare * (took_s - mean_s);
}

protocol::SelfMeasured OwnSpeeds::measured(bool is_tail, TimePoint now) {
    const bool known = forward_s_ > 0 && (is_tail || backward_s_ > 0);
    return {
        known ? forward_s_ + backward_s_ : 0,
        to_next_.bytes_per_s(now),
        to_previous_.bytes_per_s(now)};
}

}  // namespace stages
