#include "stacking/sessions/directory_link.hpp"

#include <algorithm>

namespace stacking::sessions {

bool DirectoryLink::on(const node::LinkUp& up, TimePoint now) {
    if (directory_ == PeerId{} && up.dialed && up.lane == node::Lane::Control) {
        directory_ = up.peer;
    }
    if (!is_ours(up.peer, up.lane)) {
        return false;
    }
    up_ = true;
    failure_.clear();
    pause_ = kPauseFirst;
    due_ = now;
    return true;
}

bool DirectoryLink::on(const node::LinkDown& down, TimePoint now) {
    if (!is_ours(down.peer, down.lane)) {
        return false;
    }
    up_ = false;
    due_ = now + pause_;
    return true;
}

bool DirectoryLink::on(const node::DialFailed& failed, TimePoint now) {
    if (!is_ours(failed.peer, failed.lane)) {
        return false;
    }
    failure_ = failed.error.detail;
    if (failed.error.code == swarm::ErrorCode::Unauthorised) {
        directory_ = expected_;  // another process with its own key is at the address
    }
    pause_ = std::min(2 * pause_, kPauseMax);
    due_ = now + pause_;
    return true;
}

bool DirectoryLink::wake(node::Turn turn) {
    if (due_ > turn.now) {
        return false;
    }
    if (!up_) {
        due_ = swarm::kNever;
        turn.out.add(node::Dial{directory_, node::Lane::Control, address_});
        return false;
    }
    beat_at_ = turn.now;
    due_ = turn.now + kBeatEvery;
    return true;
}

}  // namespace stacking::sessions
