#include "stacking/composition/ensemble.hpp"

#include "stacking/composition/log_probabilities.hpp"
#include "stacking/composition/refusal.hpp"
#include "swarm/base/try.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

namespace stacking::composition {

using swarm::ErrorCode;
using swarm::Result;

Ensemble::Ensemble(Members members, std::span<const double> priors)
    : members_(std::move(members)), weights_(priors) {}

Result<std::unique_ptr<Ensemble>> Ensemble::make(Members members, std::vector<double> priors) {
    if (members.empty() || members.size() > kMembersMax || members.size() != priors.size()) {
        return refusal(
            ErrorCode::Mismatch,
            "a stack has 1 to " + std::to_string(kMembersMax) + " members, each with a prior"
        );
    }
    for (std::size_t i = 0; i < members.size(); ++i) {
        if (members[i]->vocabulary() != members.front()->vocabulary()) {
            return refusal(
                ErrorCode::Mismatch,
                "member " + std::to_string(i + 1) + " has " +
                    std::to_string(members[i]->vocabulary()) + " tokens, the first one " +
                    std::to_string(members.front()->vocabulary())
            );
        }
        if (!(priors[i] > 0 && std::isfinite(priors[i]))) {
            return refusal(ErrorCode::Mismatch, "a prior must be a positive number");
        }
    }
    return std::unique_ptr<Ensemble>(new Ensemble(std::move(members), priors));
}

std::uint32_t Ensemble::vocabulary() const {
    return members_.front()->vocabulary();
}

std::uint32_t Ensemble::context() const {
    std::uint32_t least = members_.front()->context();
    for (const auto& member : members_) {
        least = std::min(least, member->context());
    }
    return least;
}

Result<> Ensemble::begin(std::uint32_t tokens) {
    weights_.restart();
    expected_.clear();
    for (const auto& member : members_) {
        SWARM_TRY(member->begin(tokens));
    }
    return {};
}

/// Shifts weight to the members that gave the token that came a high probability.
void Ensemble::observe(TokenId token) {
    if (expected_.empty()) {
        return;  // no member has predicted the first token
    }
    std::vector<double> given;
    for (const std::vector<float>& by_token : expected_) {
        given.push_back(by_token[token]);
    }
    weights_.observe(given);
}

void Ensemble::mix(std::vector<float>& out) const {
    std::vector<double> terms(members_.size());
    for (std::size_t token = 0; token < expected_.front().size(); ++token) {
        for (std::size_t i = 0; i < members_.size(); ++i) {
            terms[i] = weights_.log_weights()[i] + expected_[i][token];
        }
        out.push_back(static_cast<float>(log_sum(terms)));
    }
}

Result<std::vector<float>> Ensemble::read(std::span<const TokenId> tokens, Wanted wanted) {
    std::vector<float> out;
    const std::size_t width = vocabulary();
    for (std::size_t first = 0; first < tokens.size(); first += kTokensAtOnce) {
        const auto piece = tokens.subspan(first, std::min(kTokensAtOnce, tokens.size() - first));
        std::vector<std::vector<float>> scores;
        for (const auto& member : members_) {
            SWARM_TRY(auto own, member->read(piece, Wanted::AfterEach));
            scores.push_back(std::move(own));
        }
        for (std::size_t row = 0; row < piece.size(); ++row) {
            observe(piece[row]);
            expected_.resize(members_.size());
            for (std::size_t i = 0; i < members_.size(); ++i) {
                const auto begin = scores[i].begin() + static_cast<std::ptrdiff_t>(row * width);
                expected_[i].assign(begin, begin + static_cast<std::ptrdiff_t>(width));
                if (!normalise(expected_[i])) {
                    return refusal(
                        ErrorCode::NotFinite,
                        "the logits of member " + std::to_string(i + 1) + " are no numbers"
                    );
                }
            }
            if (wanted == Wanted::AfterEach || first + row + 1 == tokens.size()) {
                mix(out);
            }
        }
    }
    return out;
}

std::vector<double> Ensemble::weights() const {
    std::vector<double> weights = weights_.log_weights();
    for (double& weight : weights) {
        weight = std::exp(weight);
    }
    return weights;
}

}  // namespace stacking::composition
