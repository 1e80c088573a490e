// One text by several models: a session at each of them, and the mean of what they say.
// Answers weigh as stack/running_bayes says, by the text with its prompt. The token is drawn from
// the mean here, and every member goes on with it.
// Invariants: a token is told once, in order. While no member is left out, the tokens are those of
// one process that holds all members: a member's dead peer costs time, never a token. A member is
// left out for the rest of the text when its session fails, or when it is later than the first
// one by `late_after`; the others' weights then sum to 1 again. The last one's failure is the
// request's. Every wait has a deadline: the members' own, and `late_after`.
// Threading: single strand. Cost per token: O(members x candidates x log candidates).
// Deviation: members' lists hold kCandidatesMax tokens; with a larger vocabulary the rest of the
// mean is spread evenly (stack/mixed_candidates), and of a prompt longer than kJudgedTokensMax only
// the end weighs.
#pragma once

#include "stacking/sessions/session_flow.hpp"
#include "stacking/stack/running_bayes.hpp"

#include <map>
#include <vector>

namespace stacking::sessions {

class EnsembleFlow {
 public:
    using Flows = std::map<std::uint64_t, SessionFlow>;  // by session

    /// `sessions`: of the request's members, in their order. `vocabulary`: the members'.
    EnsembleFlow(
        node::SessionRequest request,
        std::uint32_t vocabulary,
        std::vector<std::uint64_t> sessions,
        TimePoint now
    );

    /// The request of each member's session.
    static node::SessionRequest for_member(const node::SessionRequest& request);

    /// Goes on where it can; call after the flows have advanced.
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
    stack::RunningBayes weights_;
    std::uint32_t given_ = 0;
    TimePoint token_since_;
    TimePoint late_at_ = swarm::kNever;
    std::size_t left_;  // members
    bool done_ = false;
};

}  // namespace stacking::sessions
