// The requests about the model that a stage server has taken and not yet answered: who asked, and
// which peer above goes on with it. Requests get numbers of this server's own on their way up.
// Invariants: an own number is given once; at most `requests_max` requests are open.
// Threading: single strand. Time: each request is overdue 30 s after it was opened.
// Errors: none; a number that is not open has no request. Cost: O(log requests) for a number,
// O(requests) for a peer or a time. Source: own; evaluation_relay and inference_relay use it.
#pragma once

#include "swarm/base/ids.hpp"
#include "swarm/base/units.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace stages {

class OpenRequests {
 public:
    static constexpr swarm::Duration kAnswerWithin = std::chrono::seconds(30);

    struct Request {
        swarm::PeerId from;
        std::uint64_t number = 0;           // the sender's number of the request
        std::optional<swarm::PeerId> next;  // the peer above to which it is passed
    };

    explicit OpenRequests(std::size_t requests_max) : requests_max_(requests_max) {}

    [[nodiscard]] bool is_full() const { return open_.size() >= requests_max_; }

    /// Opens a request and returns its own number. Only while the table is not full.
    std::uint64_t open(const Request& request, swarm::TimePoint now);
    /// The open request with this own number, or null. The next change of the table ends it.
    [[nodiscard]] const Request* find(std::uint64_t own) const;
    /// Removes the request and returns it, or nothing when it is not open.
    std::optional<Request> close(std::uint64_t own);

    /// Own numbers of the requests that were passed to a peer, in the order of their opening.
    [[nodiscard]] std::vector<std::uint64_t> passed_to(swarm::PeerId peer) const;
    /// Own numbers of the requests that are overdue, in the order of their opening.
    [[nodiscard]] std::vector<std::uint64_t> overdue(swarm::TimePoint now) const;
    [[nodiscard]] swarm::TimePoint next_deadline() const;

 private:
    struct Entry {
        Request request;
        swarm::TimePoint due;
    };

    std::size_t requests_max_;
    std::uint64_t next_number_ = 1;
    std::map<std::uint64_t, Entry> open_;  // entries by own number
};

}  // namespace stages
