// Jobs of several users that wait for a place, each user's in the order in which they came.
// A user who asks for much waits behind himself, not others behind him: the next job is the one
// with the smallest start tag, which is the end of its user's job before it, or the present, as
// the queue counts it.
// Invariant: over any time in which two users both wait, the costs of what each got differ by at
// most one job of each (start-time fairness). Cost is counted in tokens.
// Threading: one thread. Bounds: kWaitingMax jobs, kWaitingPerUserMax of each user.
// Cost: O(users) to take, O(waiting) to remove.
// Source: Goyal, Vin, Cheng, "Start-time fair queueing", 1996. Deviation: what a job did not use of
// its cost is given back to its user when it ends.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>

namespace stacking::api {

class FairQueue {
 public:
    static constexpr std::size_t kWaitingMax = 1024;
    static constexpr std::size_t kWaitingPerUserMax = 256;

    enum class Room { Yes, UserIsFull, Full };

    /// Tells whether `jobs` more jobs of this user may wait.
    [[nodiscard]] Room room(const std::string& user, std::size_t jobs) const;

    /// REQUIRES: room() says yes.
    void add(const std::string& user, std::uint64_t job, double cost);

    /// Returns the job that is next, of the users that `may` names; nothing when there is none.
    template <class May>
    std::optional<std::uint64_t> take(const May& may) {
        auto best = users_.end();
        for (auto user = users_.begin(); user != users_.end(); ++user) {
            const bool waits = !user->second.waiting.empty();
            if (waits && (best == users_.end() || start(user->second) < start(best->second)) &&
                may(user->first)) {
                best = user;
            }
        }
        return best == users_.end() ? std::nullopt : std::optional(take_first(best->second));
    }

    /// Gives a job up that waits; returns whether it did.
    bool remove(std::uint64_t job);

    /// Gives back what a job of the user did not use.
    void give_back(const std::string& user, double cost);

    [[nodiscard]] std::size_t size() const { return size_; }

 private:
    struct Waiting {
        std::uint64_t job = 0;
        double cost = 0;
    };

    struct User {
        std::deque<Waiting> waiting;
        double end = 0;  // end tag of the last job that was taken
    };

    [[nodiscard]] double start(const User& user) const { return std::max(user.end, now_); }

    std::uint64_t take_first(User& user);
    void forget_idle();

    std::map<std::string, User> users_;
    double now_ = 0;  // start tag of the last job that was taken
    std::size_t size_ = 0;
};

}  // namespace stacking::api
