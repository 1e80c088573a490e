#include "stages/torch/document_mask.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cumsum.h>
#include <ATen/ops/tril.h>
#include <ATen/ops/zeros.h>
#include <limits>

namespace stages::torch_backend {

using at::Tensor;

Tensor document_mask(const Tensor& ids, std::int64_t end) {
    const Tensor ends = ids.eq(end).to(at::kLong);
    const Tensor document = at::cumsum(ends, 1) - ends;  // ends before each position
    const Tensor seen = at::tril(document.unsqueeze(2).eq(document.unsqueeze(1)));
    constexpr double kNever = -std::numeric_limits<double>::infinity();
    return at::zeros(seen.sizes(), ids.options().dtype(at::kFloat))
        .masked_fill_(seen.logical_not(), kNever)
        .unsqueeze(1);
}

}  // namespace stages::torch_backend
