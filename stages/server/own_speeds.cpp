#include "stages/server/own_speeds.hpp"

#include "swarm/base/units.hpp"

#include <algorithm>
#include <chrono>

namespace stages {
namespace {

using swarm::in_seconds;

constexpr double kNewShare = 0.2;  // weight of the latest job in the mean

}  // namespace

void OwnSpeeds::computed(protocol::Leg leg, TimePoint given, TimePoint now) {
    const double took_s = in_seconds(now - std::max(given, free_at_));
    free_at_ = now;
    double& mean_s = leg == protocol::Leg::Forward ? forward_s_ : backward_s_;
    mean_s = mean_s == 0 ? took_s : mean_s + kNewShare * (took_s - mean_s);
}

protocol::SelfMeasured OwnSpeeds::measured(Place place, TimePoint now) {
    const bool known = forward_s_ > 0 && (place == Place::Tail || backward_s_ > 0);
    return {
        known ? forward_s_ + backward_s_ : 0,
        to_next_.bytes_per_s(now),
        to_previous_.bytes_per_s(now)};
}

}  // namespace stages
