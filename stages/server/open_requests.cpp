#include "stages/server/open_requests.hpp"

#include "swarm/base/check.hpp"

#include <algorithm>

namespace stages {

std::uint64_t OpenRequests::open(const Request& request, swarm::TimePoint now) {
    SWARM_ASSERT(!is_full());
    const std::uint64_t own = next_number_++;
    open_[own] = {request, now + kAnswerWithin};
    return own;
}

const OpenRequests::Request* OpenRequests::find(std::uint64_t own) const {
    const auto found = open_.find(own);
    return found == open_.end() ? nullptr : &found->second.request;
}

std::optional<OpenRequests::Request> OpenRequests::close(std::uint64_t own) {
    const auto found = open_.find(own);
    if (found == open_.end()) {
        return std::nullopt;
    }
    const Request closed = found->second.request;
    open_.erase(found);
    return closed;
}

std::vector<std::uint64_t> OpenRequests::passed_to(swarm::PeerId peer) const {
    std::vector<std::uint64_t> numbers;
    for (const auto& [own, entry] : open_) {
        if (entry.request.next == peer) {
            numbers.push_back(own);
        }
    }
    return numbers;
}

std::vector<std::uint64_t> OpenRequests::overdue(swarm::TimePoint now) const {
    std::vector<std::uint64_t> numbers;
    for (const auto& [own, entry] : open_) {
        if (entry.due <= now) {
            numbers.push_back(own);
        }
    }
    return numbers;
}

swarm::TimePoint OpenRequests::next_deadline() const {
    swarm::TimePoint due = swarm::kNever;
    for (const auto& [own, entry] : open_) {
        due = std::min(due, entry.due);
    }
    return due;
}

}  // namespace stages
