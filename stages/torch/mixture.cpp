#include "stages/torch/mixture.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/index_add.h>
#include <ATen/ops/index_select.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/nonzero.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/sort.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros_like.h>
#include <vector>

namespace stages::torch_backend {

using at::Tensor;

namespace {

/// E x sum over experts of f_e x mean p_e. The choices have no gradient.
Tensor balance_of(const Tensor& probabilities, const Tensor& chosen) {
    const std::int64_t experts = probabilities.size(1);
    const auto rows = static_cast<double>(probabilities.size(0));
    std::vector<Tensor> shares;
    for (std::int64_t expert = 0; expert < experts; ++expert) {
        shares.push_back(chosen.eq(expert).sum().to(at::kFloat) / rows);
    }
    return (at::stack(shares) * probabilities.mean(0)).sum() * experts;
}

}  // namespace

Mixed mix_experts(
    const Tensor& rows, const Tensor& router, std::int64_t per_row, const ExpertFunction& expert
) {
    const Tensor probabilities = at::softmax(at::linear(rows, router), -1);
    const auto [sorted, order] =
        at::sort(probabilities, /*stable=*/true, /*dim=*/-1, /*descending=*/true);
    const Tensor largest = sorted.narrow(1, 0, per_row);  // (N, k)
    const Tensor chosen = order.narrow(1, 0, per_row);
    const Tensor shares =
        largest / (per_row == 1 ? largest.detach() : largest.sum(-1, /*keepdim=*/true));
    Tensor mixed = at::zeros_like(rows);
    for (std::int64_t index = 0; index < router.size(0); ++index) {
        const Tensor places = at::nonzero(chosen.eq(index));  // (n, 2): row and place among k
        if (places.size(0) == 0) {
            continue;
        }
        // A row chooses an expert once, so no two additions of one call meet.
        const Tensor own = places.select(1, 0);
        const Tensor share =
            at::index_select(shares.flatten(), 0, own * per_row + places.select(1, 1));
        const Tensor output = expert(index, at::index_select(rows, 0, own));
        mixed = at::index_add(mixed, 0, own, output * share.unsqueeze(1));
    }
    return {mixed, balance_of(probabilities, chosen)};
}

}  // namespace stages::torch_backend
