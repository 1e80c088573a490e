#include "stages/torch/loss_terms.hpp"

#include "swarm/base/token_flags.hpp"

#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <algorithm>
#include <optional>
#include <torch/csrc/autograd/autograd.h>

namespace stages::torch_backend {

Targets targets_of(const at::Tensor& ids, std::span<const std::uint32_t> tokens) {
    const std::int64_t row = ids.size(1);
    const at::Tensor all = ids.narrow(1, 1, row - 1);
    if (std::all_of(tokens.begin(), tokens.end(), swarm::counts_for_loss)) {
        return {all};
    }
    const at::Tensor ignored = at::empty({ids.size(0), row}, at::kBool);
    bool* const out = ignored.mutable_data_ptr<bool>();
    Counted counted = Counted::None;
    for (std::size_t i = 0; i < tokens.size(); ++i) {
        out[i] = !swarm::counts_for_loss(tokens[i]);
        const bool is_target = i % static_cast<std::size_t>(row) != 0;
        counted = is_target && !out[i] ? Counted::Some : counted;
    }
    return {all.masked_fill(ignored.narrow(1, 1, row - 1).to(ids.device()), kNoTarget), counted};
}

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
