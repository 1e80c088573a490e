#include "stages/torch/mixture.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/index_add.h>
#include <ATen/ops/index_select.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/nonzero.h>
#include <ATen/ops/scatter.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/sort.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <tuple>
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

Routed route_rows(const Tensor& rows, const Tensor& router, std::int64_t per_row) {
    const Tensor probabilities = at::softmax(at::linear(rows, router), -1);
    const auto [sorted, order] =
        at::sort(probabilities, /*stable=*/true, /*dim=*/-1, /*descending=*/true);
    const Tensor largest = sorted.narrow(1, 0, per_row);  // (N, k)
    const Tensor chosen = order.narrow(1, 0, per_row);
    const Tensor shares =
        largest / (per_row == 1 ? largest.detach() : largest.sum(-1, /*keepdim=*/true));
    return {
        at::scatter(at::zeros_like(probabilities), 1, chosen, shares),
        balance_of(probabilities, chosen)};
}

Tensor largest_shares(const Tensor& shares, std::int64_t per_row) {
    const Tensor order =
        std::get<1>(at::sort(shares.detach(), /*stable=*/true, /*dim=*/-1, /*descending=*/true));
    const Tensor none = at::zeros(shares.sizes(), shares.options());
    return shares * at::scatter(none, 1, order.narrow(1, 0, per_row), 1);
}

// A share that is 0 in fp32 adds nothing and has no gradient by the router, so its row may be left
// out.
Tensor add_experts(
    Tensor onto,
    const Tensor& rows,
    const Tensor& shares,
    swarm::run::ExpertRange experts,
    const ExpertFunction& expert
) {
    for (std::int64_t index = experts.first; index < std::int64_t{experts.end}; ++index) {
        const Tensor of_expert = shares.select(1, index);
        const Tensor own = at::nonzero(of_expert).squeeze(1);
        if (own.size(0) == 0) {
            continue;
        }
        // Each row is there once, so no two additions of one call meet.
        const Tensor share = at::index_select(of_expert, 0, own);
        const Tensor output = expert(index, at::index_select(rows, 0, own));
        onto = at::index_add(onto, 0, own, output * share.unsqueeze(1));
    }
    return onto;
}

}  // namespace stages::torch_backend
