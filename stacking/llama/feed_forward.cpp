#include "stacking/llama/feed_forward.hpp"

#include "stacking/kernels/split_multiply.hpp"
#include "swarm/base/check.hpp"

namespace stacking::llama {

void FeedForward::run(
    const FeedForwardWeights& part,
    const kernels::Rows& in,
    std::vector<float>& wide,
    std::vector<float>& out
) const {
    constexpr std::size_t kGateWork = 16;  // multiply-adds of one value, roughly
    const std::size_t ffn = part.down.inputs();
    const auto multiply = [&](const kernels::JoinedMatrix& matrix,
                              const kernels::Rows& rows,
                              std::vector<float>& product) {
        product.resize(rows.count * matrix.outputs());
        kernels::split_multiply(workers, kernels, matrix, rows, product.data(), matrix.outputs());
    };
    multiply(part.gate_up, in, wide);
    workers.split(in.count, ffn * kGateWork, [&](swarm::UnitRange rows, std::size_t /*thread*/) {
        for (std::size_t row = rows.begin; row < rows.end; ++row) {
            float* const values = wide.data() + row * 2 * ffn;
            gate(values, values + ffn, ffn);
        }
    });
    multiply(part.down, {wide.data(), in.count, 2 * ffn}, out);
}

FeedForward::Gate gate_of(const models::Architecture& is, const kernels::Kernels& kernels) {
    return is.traits.activation == models::Activation::Silu ? kernels.gate : kernels.gate_gelu;
}

const kernels::Kernels& kernels_on(kernels::Path path) {
    const kernels::Kernels* const found = kernels::kernels_of(path);
    SWARM_ASSERT(found != nullptr);
    return *found;
}

}  // namespace stacking::llama
