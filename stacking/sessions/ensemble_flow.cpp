#include "stacking/sessions/ensemble_flow.hpp"

#include "stacking/composition/mixed_candidates.hpp"
#include "stacking/sampler.hpp"
#include "swarm/protocol/limits.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace stacking::sessions {
namespace {

std::vector<double> priors_of(const std::vector<node::StackMember>& members) {
    std::vector<double> priors;
    for (const node::StackMember& member : members) {
        priors.push_back(member.prior);
    }
    return priors;
}

}  // namespace

EnsembleFlow::EnsembleFlow(
    node::SessionRequest request,
    std::uint32_t vocabulary,
    std::vector<std::uint64_t> sessions,
    TimePoint now
)
    : request_(std::move(request)),
      vocabulary_(vocabulary),
      sessions_(std::move(sessions)),
      weights_(priors_of(request_.members)),
      token_since_(now),
      left_(sessions_.size()) {}

node::SessionRequest EnsembleFlow::for_member(const node::SessionRequest& request) {
    node::SessionRequest own = request;
    own.sampling = {.temperature = 0, .seed = 0, .top = protocol::kCandidatesMax};
    own.exit_threshold = 2;  // no early exit, which would not tell the text's probability
    own.members.clear();
    return own;
}

void EnsembleFlow::drop(std::size_t member, std::string reason, Flows& flows, node::Turn turn) {
    flows.at(sessions_[member]).cancel(turn);
    if (--left_ == 0) {
        done_ = true;
        late_at_ = swarm::kNever;
        turn.out.add(node::Tell{node::GenerationFailed{request_.request, std::move(reason), {}}});
        return;
    }
    weights_.drop(member);
    const std::size_t position = request_.prompt.size() + given_;
    turn.out.add(node::Tell{node::MemberDropped{
        request_.request,
        static_cast<std::uint32_t>(member),
        static_cast<std::uint32_t>(position),
        std::move(reason)}});
}

/// Leaves out the members that have failed or are late. Returns true when all others have answered.
bool EnsembleFlow::gather(Flows& flows, node::Turn turn) {
    std::vector<std::size_t> missing;
    for (std::size_t member = 0; member < sessions_.size() && !done_; ++member) {
        if (!weights_.has(member)) {
            continue;
        }
        const SessionFlow& flow = flows.at(sessions_[member]);
        if (flow.is_done()) {
            drop(member, flow.failure(), flows, turn);
        } else if (!flow.answer()) {
            missing.push_back(member);
        }
    }
    if (done_ || missing.size() == left_) {
        return false;
    }
    if (!missing.empty() && late_at_ == swarm::kNever) {
        late_at_ = turn.now + request_.late_after;
    }
    if (!missing.empty() && turn.now < late_at_) {
        return false;
    }
    for (const std::size_t member : missing) {
        drop(member, "no answer in time, while others had answered", flows, turn);
    }
    return true;
}

void EnsembleFlow::give_token(Flows& flows, node::Turn turn) {
    std::vector<composition::Candidates> said;
    std::vector<double> text(sessions_.size());
    for (std::size_t member = 0; member < sessions_.size(); ++member) {
        SessionFlow::Answer answer;  // stays empty for a member that was left out
        if (weights_.has(member)) {
            answer = *flows.at(sessions_[member]).answer();
        }
        said.emplace_back(answer.top, vocabulary_);
        text[member] = answer.text_log_probability;
    }
    if (given_ == 0) {
        weights_.observe(text);
    }
    auto mixed = composition::mix_candidates(said, weights_.log_weights(), protocol::kTopTokensMax);
    const auto position = static_cast<std::uint32_t>(request_.prompt.size()) + given_;
    const TokenId token = sample_token(mixed, sampler_of(request_.sampling), position);
    mixed.resize(std::min<std::size_t>(mixed.size(), request_.sampling.top));
    done_ = ++given_ == request_.tokens;
    turn.out.add(node::Tell{node::TokenStreamed{
        request_.request,
        position,
        token,
        std::move(mixed),
        turn.now - std::exchange(token_since_, turn.now),
        done_,
        {}}});
    for (std::size_t member = 0; member < sessions_.size(); ++member) {
        text[member] = said[member].log_probability(token);
        if (weights_.has(member)) {
            flows.at(sessions_[member]).go_on(token, turn);
        }
    }
    weights_.observe(text);
    late_at_ = swarm::kNever;
}

void EnsembleFlow::advance(Flows& flows, node::Turn turn) {
    if (!done_ && gather(flows, turn)) {
        give_token(flows, turn);
    }
}

void EnsembleFlow::cancel(Flows& flows, node::Turn turn) {
    for (const std::uint64_t session : sessions_) {
        const auto flow = flows.find(session);
        if (flow != flows.end()) {
            flow->second.cancel(turn);
        }
    }
    done_ = true;
    late_at_ = swarm::kNever;
}

}  // namespace stacking::sessions
