#include "stages/torch/loss_terms.hpp"

#include <ATen/ops/full.h>
#include <optional>
#include <torch/csrc/autograd/autograd.h>

namespace stages::torch_backend {

LossTerm scaled_term(const at::Tensor& value, double factor) {
    return {value, at::full({}, factor, value.options())};
}

LossTerm exit_term(
    const LlamaModel& model, const at::Tensor& rows, const Targets& targets, double factor
) {
    const at::Tensor leaf = rows.detach().requires_grad_(true);
    const at::Tensor loss = model.loss(leaf, targets.ids, targets.counted);
    const auto gradients =
        torch::autograd::grad({loss}, {leaf}, {at::full({}, factor, loss.options())});
    return {rows, gradients.front()};
}

}  // namespace stages::torch_backend
