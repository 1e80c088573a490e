// The requests to the experts that a server lends: each is checked, computed on the device and
// answered. Nothing outlives an answer, so whoever lost one may ask again, here or elsewhere.
// Invariant: rows are checked (weights, layer, expert, size, finite) before memory is taken for
// them; each request gets one answer, ExpertOutputs or ExpertRefused, unless its link ends.
// Threading: single strand; only device work touches the lender. Bounds: kExpertCallsPerPeerMax
// requests of each sender, kExpertCallsMax requests and kExpertBytesMax bytes of all.
// Errors: none; a bad request is refused. Cost: O(log requests + bytes).
#pragma once

#include "stacking/expert_compute.hpp"
#include "stacking/sessions/calls/own_rate.hpp"
#include "stacking/sessions/link_book.hpp"

#include <map>
#include <memory>
#include <optional>
#include <set>

namespace stacking::sessions {

class ExpertTable {
 public:
    static constexpr std::uint64_t kFirstJob = std::uint64_t{1} << 61;
    static constexpr std::uint64_t kEndOfJobs = std::uint64_t{1} << 62;

    struct Options {
        std::shared_ptr<ExpertLender> lender;
        swarm::Digest weights;  // the digest that requests must have
    };

    explicit ExpertTable(Options options);

    void take(
        PeerId from, const protocol::ExpertRows& rows, const node::Payload& payload, node::Turn turn
    );

    static bool is_its_job(swarm::JobId job) {
        return job.value >= kFirstJob && job.value < kEndOfJobs;
    }

    void computed(swarm::JobId job, node::Turn turn);

    /// The peer's bulk link is gone: answers to it are lost.
    void lost(PeerId peer) { asked_.erase(peer); }

    /// Whether the peer has asked over its present link.
    [[nodiscard]] bool serves(PeerId peer) const { return asked_.contains(peer); }

    /// Bytes of the largest tensor that anybody may send.
    [[nodiscard]] std::uint64_t tensor_bytes() const {
        return std::uint64_t{protocol::kSessionRowsMax} * width_ * sizeof(float);
    }

    /// Rates that the device has shown, of one expert.
    [[nodiscard]] protocol::RowRates rates() const {
        return {prefill_.rows_per_s(), decode_.rows_per_s()};
    }

 private:
    struct Outcome {
        std::optional<node::Payload> outputs;
    };

    struct Request {
        PeerId from;
        std::uint64_t number = 0;  // the sender's
        std::uint32_t rows = 0;
        std::uint64_t bytes = 0;
        std::shared_ptr<Outcome> outcome;
        TimePoint came;
    };

    Options options_;
    std::uint32_t width_;
    std::map<swarm::JobId, Request> requests_;
    std::map<PeerId, std::size_t> waiting_;  // number of requests of each sender
    std::set<PeerId> asked_;                 // senders with a link
    std::uint64_t bytes_ = 0;                // sum over the requests
    std::uint64_t next_job_ = kFirstJob;
    TimePoint idle_since_{};  // end of the last job
    OwnRate prefill_;
    OwnRate decode_;
};

}  // namespace stacking::sessions
