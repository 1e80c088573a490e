// A role's way to the directory: keeps one control link up, and says when the next beat is due
// (a Register or a Locate): when the link comes up, then every 2 s.
// Without the directory's id whoever answers the first dial at that address is it, from then on.
// Invariant: one Dial at most under way; redial pauses double from 100 ms to 2 s.
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

    /// `directory`: PeerId{} when it is not known.
    DirectoryLink(PeerId directory, std::string address)
        : expected_(directory), directory_(directory), address_(std::move(address)) {}

    // True when the event was about this link.
    bool on(const node::LinkUp& up, TimePoint now);
    bool on(const node::LinkDown& down, TimePoint now);
    bool on(const node::DialFailed& failed, TimePoint now);

    /// Dials when it is time. True: send the beat now.
    bool wake(node::Turn turn);

    /// Somebody waits for the answer: the next beat comes sooner.
    void hurry() { due_ = up_ ? std::min(due_, beat_at_ + kHurriedBeatEvery) : due_; }

    [[nodiscard]] TimePoint next_deadline() const { return due_; }

    [[nodiscard]] PeerId peer() const { return directory_; }

    [[nodiscard]] bool is_up() const { return up_; }

    /// What the last dial came to; empty when it succeeded, or before the first.
    [[nodiscard]] const std::string& failure() const { return failure_; }

 private:
    [[nodiscard]] bool is_ours(PeerId peer, node::Lane lane) const {
        return peer == directory_ && lane == node::Lane::Control;
    }

    PeerId expected_;
    PeerId directory_;  // known since it answered, if it was not expected
    std::string address_;
    std::string failure_;
    bool up_ = false;
    swarm::Duration pause_ = kPauseFirst;
    TimePoint due_ = swarm::kAtOnce;  // of the next dial or beat; kNever while dialing
    TimePoint beat_at_ = swarm::kAtOnce;
};

}  // namespace stacking::sessions
