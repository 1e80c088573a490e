// The part of LlamaSessions that computes mixtures of experts. The rows that chose an expert are
// gathered and multiplied together; an expert that no row chose is not read.
#include "stacking/kernels/exponential.hpp"
#include "stacking/llama/expert_choice.hpp"
#include "stacking/llama/llama_sessions.hpp"

#include <algorithm>

namespace stacking::llama {

void LlamaSessions::add_expert(
    const FeedForwardWeights& expert,
    std::span<const std::size_t> rows,
    std::span<const float> shares,
    const kernels::Rows& in
) {
    const std::size_t width = weights_->architecture.model.width;
    gathered_.resize(rows.size() * width);
    for (std::size_t i = 0; i < rows.size(); ++i) {
        std::copy_n(in.values + rows[i] * in.stride, width, gathered_.data() + i * width);
    }
    feed(expert, {gathered_.data(), rows.size(), width});
    for (std::size_t i = 0; i < rows.size(); ++i) {
        float* const to = mixed_.data() + rows[i] * width;
        const float* const term = product_.data() + i * width;
        for (std::size_t d = 0; d < width; ++d) {
            to[d] += term[d] * shares[i];
        }
    }
}

std::vector<LlamaSessions::Group> LlamaSessions::route(
    const LayerWeights& layer, const kernels::Rows& in
) {
    const models::Experts& experts = weights_->architecture.traits.experts;
    std::vector<Group> groups(experts.count);
    multiply(*layer.router, in, router_logits_);
    for (std::size_t row = 0; row < in.count; ++row) {
        const auto logits = std::span(router_logits_).subspan(row * experts.count, experts.count);
        for (const ExpertShare& one : choose_experts(logits, experts)) {
            groups[one.expert].rows.push_back(row);
            groups[one.expert].shares.push_back(one.share);
        }
    }
    return groups;
}

void LlamaSessions::add_shared(const LayerWeights& layer, const kernels::Rows& in) {
    if (layer.shared) {
        multiply(*layer.shared_gate, in, router_logits_);
        Group all;
        for (std::size_t row = 0; row < in.count; ++row) {
            all.rows.push_back(row);
            all.shares.push_back(1.0F / (1.0F + kernels::exponential(-router_logits_[row])));
        }
        add_expert(*layer.shared, all.rows, all.shares, in);
    }
}

void LlamaSessions::feed_experts(const LayerWeights& layer, const kernels::Rows& in) {
    const std::vector<Group> groups = route(layer, in);
    mixed_.assign(in.count * weights_->architecture.model.width, 0.0F);
    for (std::size_t expert = 0; expert < groups.size(); ++expert) {
        if (!groups[expert].rows.empty()) {
            add_expert(layer.experts[expert], groups[expert].rows, groups[expert].shares, in);
        }
    }
    add_shared(layer, in);
    product_.swap(mixed_);
}

}  // namespace stacking::llama
