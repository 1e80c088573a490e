// One text by several models: a session at each member, and the mean of the members' answers. The
// weights are those of composition/running_bayes over the text with its prompt. The client draws
// the token from the mean, and every member reads it next.
// Invariants: each token is told once, in order. While no member is left out, the tokens are those
// of one process that holds all members: a member's dead peer costs time, never a token. A member
// is left out for the rest of the text when its session fails, or when its answer comes
// `late_after` later than the first one; the weights of the others sum to 1 again. When the last
// member fails, the request fails. Every wait has a deadline: the members' own, and `late_after`.
// Threading: single strand. Cost per token: O(members x candidates x log candidates).
// Deviation: a member's list holds kCandidatesMax tokens. With a larger vocabulary the rest of the
// mean is spread evenly (composition/mixed_candidates). Only the last kJudgedTokensMax tokens of a
// prompt count for the weights.
#pragma once

#include "stacking/composition/running_bayes.hpp"
#include "stacking/sessions/session_flow.hpp"

#include <map>
#include <vector>

namespace stacking::sessions {

class EnsembleFlow {
 public:
    using Flows = std::map<std::uint64_t, SessionFlow>;  // by session

    /// `sessions`: ids of the members' sessions, in the request's order of members.
    /// `vocabulary`: number of tokens that each member knows.
    EnsembleFlow(
        node::SessionRequest request,
        std::uint32_t vocabulary,
        std::vector<std::uint64_t> sessions,
        TimePoint now
    );

    /// Makes the request for the session of one member.
    static node::SessionRequest for_member(const node::SessionRequest& request);

    /// Draws the next token when the answers are there. Call this after the flows have advanced.
    void advance(Flows& flows, node::Turn turn);

    void cancel(Flows& flows, node::Turn turn);

    [[nodiscard]] TimePoint next_deadline() const { return late_at_; }

    [[nodiscard]] bool is_done() const { return done_; }

    [[nodiscard]] std::uint64_t request() const { return request_.request; }

 private:
    void drop(std::size_t member, std::string reason, Flows& flows, node::Turn turn);
    bool gather(Flows& flows, node::Turn turn);
    void give_token(Flows& flows, node::Turn turn);

    node::SessionRequest request_;
    std::uint32_t vocabulary_;
    std::vector<std::uint64_t> sessions_;
    composition::RunningBayes weights_;
    std::uint32_t given_ = 0;
    TimePoint token_since_;
    TimePoint late_at_ = swarm::kNever;
    std::size_t left_;  // members that count
    bool done_ = false;
};

}  // namespace stacking::sessions
