#include "stacking/api/fair_queue.hpp"

#include "swarm/base/check.hpp"

#include <algorithm>

namespace stacking::api {

FairQueue::Room FairQueue::room(const std::string& user, std::size_t jobs) const {
    const auto found = users_.find(user);
    const std::size_t own = found == users_.end() ? 0 : found->second.waiting.size();
    if (own + jobs > kWaitingPerUserMax) {
        return Room::UserIsFull;
    }
    return size_ + jobs > kWaitingMax ? Room::Full : Room::Yes;
}

void FairQueue::add(const std::string& user, std::uint64_t job, double cost) {
    SWARM_ASSERT(room(user, 1) == Room::Yes);
    users_[user].waiting.push_back({job, cost});
    ++size_;
}

std::uint64_t FairQueue::take_first(User& user) {
    const Waiting first = user.waiting.front();
    user.waiting.pop_front();
    --size_;
    now_ = start(user);
    user.end = now_ + first.cost;
    forget_idle();
    return first.job;
}

bool FairQueue::remove(std::uint64_t job) {
    for (auto& [name, user] : users_) {
        if (std::erase_if(user.waiting, [job](const Waiting& one) { return one.job == job; }) > 0) {
            --size_;
            return true;
        }
    }
    return false;
}

void FairQueue::give_back(const std::string& user, double cost) {
    const auto found = users_.find(user);
    if (found != users_.end()) {
        found->second.end -= cost;
    }
}

/// Forgets users who wait for nothing and are owed nothing.
void FairQueue::forget_idle() {
    std::erase_if(users_, [this](const auto& item) {
        return item.second.waiting.empty() && item.second.end <= now_;
    });
}

}  // namespace stacking::api
