// A role's link to the directory: keeps one control link up and says when the next beat (a Register
// or a Locate) is due: when the link comes up, and then every 2 s.
// When the directory's id is not known, the peer that answers the first dial at the address is the
// directory from then on.
// Invariant: at most one Dial is under way; pauses before a redial double from 100 ms to 2 s.
// Threading: single strand. Cost: O(1).
#pragma once

#include "stacking/sessions/link_book.hpp"

#include <algorithm>
#include <string>

namespace stacking::sessions {

class DirectoryLink {
 public:
    static constexpr swarm::Duration kBeatEvery = std::chrono::seconds(2);
    static constexpr swarm::Duration kHurriedBeatEvery = std::chrono::milliseconds(200);
    static constexpr swarm::Duration kPauseFirst = std::chrono::milliseconds(100);
    static constexpr swarm::Duration kPauseMax = std::chrono::seconds(2);

    /// `directory`: PeerId{} when the id is not known.
    DirectoryLink(PeerId directory, std::string address)
        : expected_(directory), directory_(directory), address_(std::move(address)) {}

    // on() returns true when the event was about this link.
    bool on(const node::LinkUp& up, TimePoint now);
    bool on(const node::LinkDown& down, TimePoint now);
    bool on(const node::DialFailed& failed, TimePoint now);

    /// Dials when a dial is due. Returns true when the caller must send the beat now.
    bool wake(node::Turn turn);

    /// Brings the next beat forward, because a request waits for the directory's answer.
    void hurry() { due_ = up_ ? std::min(due_, beat_at_ + kHurriedBeatEvery) : due_; }

    [[nodiscard]] TimePoint next_deadline() const { return due_; }

    [[nodiscard]] PeerId peer() const { return directory_; }

    [[nodiscard]] bool is_up() const { return up_; }

    /// Why the last dial failed; empty when it succeeded, and before the first dial.
    [[nodiscard]] const std::string& failure() const { return failure_; }

 private:
    [[nodiscard]] bool is_ours(PeerId peer, node::Lane lane) const {
        return peer == directory_ && lane == node::Lane::Control;
    }

    PeerId expected_;
    PeerId directory_;  // PeerId{} until an unnamed directory has answered
    std::string address_;
    std::string failure_;
    bool up_ = false;
    swarm::Duration pause_ = kPauseFirst;
    TimePoint due_ = swarm::kAtOnce;  // time of the next dial or beat; kNever while dialing
    TimePoint beat_at_ = swarm::kAtOnce;
};

}  // namespace stacking::sessions
