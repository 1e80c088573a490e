#include "stacking/composition/mixed_candidates.hpp"

#include "stacking/composition/running_bayes.hpp"

#include <algorithm>
#include <cmath>
#include <set>

namespace stacking::composition {

using swarm::protocol::TokenScore;

namespace {

/// Least probability that a list leaves over, even if it claims the whole: no token is impossible.
constexpr double kLeastLeft = 1e-12;

}  // namespace

Candidates::Candidates(std::span<const TokenScore> listed, std::uint32_t vocabulary) {
    double sum = 0;
    for (const TokenScore& score : listed) {
        if (listed_.emplace(score.token, score.log_probability).second) {
            sum += std::exp(score.log_probability);
        }
    }
    if (listed_.size() < vocabulary) {
        const auto others = static_cast<double>(vocabulary - listed_.size());
        log_other_ = std::log(std::max(1 - sum, kLeastLeft) / others);
    }
}

double Candidates::log_probability(std::uint32_t token) const {
    const auto found = listed_.find(token);
    return found == listed_.end() ? log_other_ : found->second;
}

std::vector<TokenScore> mix_candidates(
    std::span<const Candidates> members, std::span<const double> log_weights, std::size_t count
) {
    std::set<std::uint32_t> tokens;
    std::vector<std::size_t> asked;
    for (std::size_t i = 0; i < members.size(); ++i) {
        if (!std::isfinite(log_weights[i])) {
            continue;
        }
        asked.push_back(i);
        for (const auto& [token, listed] : members[i].listed()) {
            tokens.insert(token);
        }
    }
    std::vector<TokenScore> mixed;
    std::vector<double> terms(asked.size());
    for (const std::uint32_t token : tokens) {
        for (std::size_t i = 0; i < asked.size(); ++i) {
            terms[i] = log_weights[asked[i]] + members[asked[i]].log_probability(token);
        }
        mixed.push_back({token, log_sum(terms)});
    }
    const auto better = [](const TokenScore& a, const TokenScore& b) {
        return a.log_probability != b.log_probability ? a.log_probability > b.log_probability
                                                      : a.token < b.token;
    };
    std::ranges::sort(mixed, better);
    mixed.resize(std::min(mixed.size(), count));
    return mixed;
}

}  // namespace stacking::composition
