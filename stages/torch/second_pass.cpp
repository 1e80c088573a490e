#include "stages/torch/second_pass.hpp"

#include "swarm/base/check.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/exp.h>
#include <ATen/ops/gather.h>
#include <ATen/ops/log_softmax.h>
#include <ATen/ops/sort.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>
#include <c10/core/GradMode.h>
#include <tuple>

namespace stages::torch_backend {

using at::Tensor;

namespace {

/// Maps (N, V) to (N).
Tensor entropies_of(const Tensor& logits) {
    const Tensor logarithms = at::log_softmax(logits, -1);
    return -(at::exp(logarithms) * logarithms).sum(-1);
}

}  // namespace

Tensor largest_positions(const Tensor& entropies, std::int64_t count) {
    SWARM_ASSERT(count > 0 && count <= entropies.size(1));
    // A stable sort keeps the lower one of equal positions in front, which topk() does not promise.
    const Tensor order =
        std::get<1>(at::sort(entropies, /*stable=*/true, /*dim=*/1, /*descending=*/true));
    return std::get<0>(at::sort(order.narrow(1, 0, count), 1));
}

SecondPass second_pass(
    const LlamaModel& model, const Tensor& embedded, const Tensor& mask, std::int64_t count
) {
    const auto [states, positions] = [&] {
        const c10::NoGradGuard learns_nothing;
        const Tensor rows = model.run_layers(embedded, {}, mask).rows;
        const Tensor entropies = entropies_of(model.logits(rows.flatten(0, 1)));
        return std::pair(
            rows, largest_positions(entropies.view({rows.size(0), rows.size(1)}), count)
        );
    }();
    const Tensor looped = at::zeros({embedded.size(0), embedded.size(1)}, positions.options())
                              .scatter_(1, positions, 1)
                              .to(at::kBool);
    return {at::where(looped.unsqueeze(2), states, embedded), positions};
}

Tensor looped_loss(
    const LlamaModel& model, const Tensor& rows, const Tensor& targets, const Tensor& positions
) {
    const Tensor own = at::gather(targets, 1, positions);
    const Tensor index = positions.unsqueeze(2).expand({-1, -1, rows.size(2)});
    const bool counts = own.ne(kNoTarget).any().item<bool>();
    return model.loss(at::gather(rows, 1, index), own, counts ? Counted::Some : Counted::None);
}

}  // namespace stages::torch_backend
