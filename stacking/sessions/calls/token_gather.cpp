#include "stacking/sessions/calls/token_gather.hpp"

#include <algorithm>

namespace stacking::sessions {
namespace {

using swarm::Duration;
using swarm::TimePoint;

Duration of_seconds(double s) {
    return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(s));
}

}  // namespace

void TokenGather::came(std::uint64_t session, bool first, Returns& hop, TimePoint now) {
    if (hop.answered) {
        hop.took = now - *hop.answered;
    }
    forget(session, hop);
    if (last_of_ && *last_of_ != session) {
        before_at_ = last_at_;
    }
    last_of_ = session;
    last_at_ = now;
    if (first) {
        since_ = now;
    }
}

void TokenGather::answered(std::uint64_t session, Returns& hop, TimePoint now) {
    hop.answered = now;
    if (hop.took && *hop.took <= kTogether) {
        expected_[session] = now + *hop.took;
    }
}

void TokenGather::ended(std::size_t rows, Duration call, TimePoint now) {
    if (rows > 0) {
        pace_.add(rows, call);
    }
    since_ = now;
    std::erase_if(expected_, [now](const auto& session) { return session.second < now - kMost; });
}

void TokenGather::forget(std::uint64_t session, Returns& hop) {
    hop.answered.reset();
    expected_.erase(session);
}

bool TokenGather::is_shared() const {
    return before_at_ && last_at_ - *before_at_ <= kTogether;
}

TimePoint TokenGather::until() const {
    const double shortest_s = pace_.shortest_s();
    const double slow_s = pace_.slow_s();
    const double pays_s = kWaitPart * pace_.saved_part() * shortest_s + kWaitOfSlow * slow_s;
    const Duration wait = std::min(kMost, of_seconds(pays_s));
    const TimePoint end = since_ + wait;
    const Duration late = of_seconds(kLatePart * shortest_s + kLateOfSlow * slow_s);
    TimePoint gathered = std::min(last_at_ + of_seconds(kGapPart * shortest_s), end);
    for (const auto& [session, expected] : expected_) {
        if (expected + late <= end) {
            gathered = std::max(gathered, expected + late);
        }
    }
    return gathered;
}

}  // namespace stacking::sessions
