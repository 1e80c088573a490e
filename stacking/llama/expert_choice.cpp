#include "stacking/llama/expert_choice.hpp"

#include "stacking/kernels/exponential.hpp"
#include "swarm/base/check.hpp"

#include <algorithm>
#include <cmath>

namespace stacking::llama {

std::vector<ExpertShare> choose_experts(
    std::span<const float> logits, const models::Experts& experts
) {
    SWARM_ASSERT(logits.size() == experts.count);
    const float largest = *std::max_element(logits.begin(), logits.end());
    std::vector<ExpertShare> all;
    float sum = 0;
    for (std::uint32_t expert = 0; expert < experts.count; ++expert) {
        all.push_back({expert, kernels::exponential(logits[expert] - largest)});
        sum += all.back().share;
    }
    const auto chosen_end = all.begin() + experts.chosen;
    if (!std::isnan(sum)) {  // NaN has no order
        std::partial_sort(
            all.begin(),
            chosen_end,
            all.end(),
            [](const ExpertShare& a, const ExpertShare& b) {
                return a.share > b.share || (a.share == b.share && a.expert < b.expert);
            }
        );
    }
    all.erase(chosen_end, all.end());
    std::sort(all.begin(), all.end(), [](const ExpertShare& a, const ExpertShare& b) {
        return a.expert < b.expert;
    });
    if (experts.renormalise) {
        sum = 0;
        for (const ExpertShare& one : all) {
            sum += one.share;
        }
    }
    for (ExpertShare& one : all) {
        one.share /= sum;
    }
    return all;
}

}  // namespace stacking::llama
