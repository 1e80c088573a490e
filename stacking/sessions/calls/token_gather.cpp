#include "stacking/sessions/calls/token_gather.hpp"

#include <algorithm>

namespace stacking::sessions {

using swarm::Duration;
using swarm::TimePoint;

void TokenGather::came(std::uint64_t session, bool first, Answered& hop, TimePoint now) {
    if (hop) {
        const double took_s = swarm::in_seconds(now - *hop);
        return_s_ += (took_s < return_s_ ? kQuickWeight : kSlowWeight) * (took_s - return_s_);
        forget(hop);
    }
    if (last_of_ && *last_of_ != session) {
        before_at_ = last_at_;
    }
    last_of_ = session;
    last_at_ = now;
    if (first) {
        since_ = now;
    }
}

void TokenGather::answered(Answered& hop, TimePoint now) {
    unreturned_ += hop ? 0 : 1;
    hop = now;
}

void TokenGather::ended(Duration call, TimePoint now) {
    const std::chrono::duration<double> wait(2 * return_s_);
    const bool pays = wait <= kMost && wait <= kReturnPart * std::chrono::duration<double>(call);
    returns_until_ = pays ? now + std::chrono::duration_cast<Duration>(wait) : TimePoint{};
}

void TokenGather::forget(Answered& hop) {
    unreturned_ -= hop ? 1 : 0;
    hop.reset();
}

bool TokenGather::is_shared() const {
    return before_at_ && last_at_ - *before_at_ <= kTogether;
}

TimePoint TokenGather::until() const {
    const TimePoint gathered = std::min(last_at_ + kGap, since_ + kMost);
    return unreturned_ > 0 ? std::max(gathered, returns_until_) : gathered;
}

}  // namespace stacking::sessions
