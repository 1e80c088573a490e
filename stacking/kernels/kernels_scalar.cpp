// The reference, which defines the operations of each loop and their order. On machines without
// FMA, where std::fma is a function call per product, it is correct and slow.
#include "stacking/blocks/coding.hpp"
#include "stacking/kernels/block_layout.hpp"
#include "stacking/kernels/exponential.hpp"
#include "stacking/kernels/formulas.hpp"
#include "stacking/kernels/kernels.hpp"
#include "stacking/kernels/packed_layout.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <vector>

namespace stacking::kernels {
namespace {

template <class T>
T load(const std::byte* at) {
    T value{};
    std::memcpy(&value, at, sizeof value);
    return value;
}

float fp32_product(const std::byte* panel, const float* x, std::size_t inputs, std::size_t output) {
    float sum = 0;
    for (std::size_t k = 0; k < inputs; ++k) {
        const auto weight = load<float>(panel + (k * kPanelOutputs + output) * sizeof(float));
        sum = std::fma(x[k], weight, sum);
    }
    return sum;
}

float bf16_product(const std::byte* panel, const float* x, std::size_t inputs, std::size_t output) {
    float sum = 0;
    for (std::size_t k = 0; k < inputs; ++k) {
        const auto half =
            load<std::uint16_t>(panel + (k * kPanelOutputs + output) * sizeof(std::uint16_t));
        sum = std::fma(x[k], std::bit_cast<float>(std::uint32_t{half} << 16), sum);
    }
    return sum;
}

float fp16_product(const std::byte* panel, const float* x, std::size_t inputs, std::size_t output) {
    float sum = 0;
    for (std::size_t k = 0; k < inputs; ++k) {
        const auto half =
            load<std::uint16_t>(panel + (k * kPanelOutputs + output) * sizeof(std::uint16_t));
        sum = std::fma(x[k], blocks::from_half(half), sum);
    }
    return sum;
}

/// Makes one sum per group, and scales it when it is added to the total.
float int8_product(const std::byte* panel, const float* x, std::size_t inputs, std::size_t output) {
    float sum = 0;
    for (std::size_t first = 0; first < inputs; first += kScaleGroup) {
        const std::byte* const group = panel + first / kScaleGroup * kInt8GroupBytes;
        float partial = 0;
        for (std::size_t k = 0; k < std::min(kScaleGroup, inputs - first); ++k) {
            const auto level =
                load<std::int8_t>(group + kInt8ScaleBytes + k * kPanelOutputs + output);
            partial = std::fma(x[first + k], static_cast<float>(level), partial);
        }
        sum = std::fma(partial, load<float>(group + output * sizeof(float)), sum);
    }
    return sum;
}

/// A weight is rounded to fp32 before it is multiplied.
float f8_product(const std::byte* panel, const float* x, std::size_t inputs, std::size_t output) {
    float sum = 0;
    for (std::size_t first = 0; first < inputs; first += kF8Group, panel += kF8GroupBytes) {
        const auto scale = load<float>(panel + output * sizeof(float));
        for (std::size_t k = 0; k < std::min(kF8Group, inputs - first); ++k) {
            const auto byte =
                load<std::uint8_t>(panel + kF8ScaleBytes + k * kPanelOutputs + output);
            const float weight = blocks::from_e4m3(byte) * scale;
            sum = std::fma(x[first + k], weight, sum);
        }
    }
    return sum;
}

/// Decodes the weights of each output, and goes on as with fp32.
void multiply_blocks(const MatrixView& matrix, const Rows& x, float* out, std::size_t out_stride) {
    const blocks::Coding coding = blocks::coding_of(matrix.type);
    std::vector<float> weights(matrix.inputs);
    for (std::size_t output = 0; output < matrix.outputs; ++output) {
        const std::byte* const panel = matrix.panels + output / kPanelOutputs * matrix.panel_bytes;
        read_block_row(coding, panel, output % kPanelOutputs, weights);
        for (std::size_t row = 0; row < x.count; ++row) {
            float sum = 0;
            for (std::size_t k = 0; k < matrix.inputs; ++k) {
                sum = std::fma(x.values[row * x.stride + k], weights[k], sum);
            }
            out[row * out_stride + output] = sum;
        }
    }
}

void multiply(const MatrixView& matrix, const Rows& x, float* out, std::size_t out_stride) {
    if (matrix.format == WeightFormat::Blocks) {
        return multiply_blocks(matrix, x, out, out_stride);
    }
    const auto product = matrix.format == WeightFormat::Fp32   ? fp32_product
                         : matrix.format == WeightFormat::Bf16 ? bf16_product
                         : matrix.format == WeightFormat::Fp16 ? fp16_product
                         : matrix.format == WeightFormat::F8   ? f8_product
                                                               : int8_product;
    for (std::size_t row = 0; row < x.count; ++row) {
        for (std::size_t output = 0; output < matrix.outputs; ++output) {
            out[row * out_stride + output] = product(
                matrix.panels + output / kPanelOutputs * matrix.panel_bytes,
                x.values + row * x.stride,
                matrix.inputs,
                output % kPanelOutputs
            );
        }
    }
}

/// Adds the upper half of the lanes to the lower half until one lane is left.
float sum_lanes(float* lanes) {
    for (std::size_t half = kLanes / 2; half > 0; half /= 2) {
        for (std::size_t lane = 0; lane < half; ++lane) {
            lanes[lane] += lanes[lane + half];
        }
    }
    return lanes[0];
}

void normalise(const float* x, const float* weight, std::size_t width, float epsilon, float* out) {
    float lanes[kLanes] = {};
    for (std::size_t i = 0; i < width; ++i) {
        lanes[i % kLanes] = std::fma(x[i], x[i], lanes[i % kLanes]);
    }
    const float mean = sum_lanes(lanes) / static_cast<float>(width);
    const float scale = 1.0F / std::sqrt(mean + epsilon);
    for (std::size_t i = 0; i < width; ++i) {
        out[i] = x[i] * scale * weight[i];
    }
}

void gate(float* gate, const float* up, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
        gate[i] = gate[i] / (1.0F + exponential(-gate[i])) * up[i];
    }
}

void gate_gelu(float* gate, const float* up, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
        const float inner = gate[i] * std::fma(gate[i] * gate[i], kGeluCubic, 1.0F);
        gate[i] = gate[i] / (1.0F + exponential(inner * kGeluScale)) * up[i];
    }
}

void soft_cap(float* values, std::size_t count, float cap) {
    const float twice = 2.0F / cap;
    for (std::size_t i = 0; i < count; ++i) {
        values[i] = cap - 2.0F * cap / (exponential(values[i] * twice) + 1.0F);
    }
}

/// `index`: the query's place among those of the call.
void attend_one(
    const HeadCache& cache, std::size_t index, const float* query, float* scores, float* out
) {
    const float scale = scale_of(cache);
    const std::size_t start = first_page(cache, index);
    const std::size_t end = positions_of(cache, index);
    const std::size_t first = first_seen(cache, index);
    const auto page_of = [&](std::size_t position) {
        return cache.pages[position / kPagePositions];
    };
    float largest = -INFINITY;
    for (std::size_t position = start; position < end; ++position) {
        const float* const keys = page_of(position) + cache.keys + position % kPagePositions;
        float sum = 0;
        for (std::size_t d = 0; d < cache.head_width; ++d) {
            sum = std::fma(query[d], keys[d * kPagePositions], sum);
        }
        scores[position] = sum * scale;
        if (cache.soft_cap > 0) {
            soft_cap(scores + position, 1, cache.soft_cap);
        }
        if (position < first) {
            scores[position] = -INFINITY;  // its weight becomes 0
        }
        largest = std::max(largest, scores[position]);
    }
    float lanes[kLanes] = {};
    for (std::size_t position = start; position < end; ++position) {
        scores[position] = exponential(scores[position] - largest);
        lanes[position % kLanes] += scores[position];
    }
    const float inverse = 1.0F / sum_lanes(lanes);
    std::fill_n(out, cache.head_width, 0.0F);
    for (std::size_t position = start; position < end; ++position) {
        const float* const values =
            page_of(position) + cache.values + position % kPagePositions * cache.head_width;
        for (std::size_t d = 0; d < cache.head_width; ++d) {
            out[d] = std::fma(scores[position], values[d], out[d]);
        }
    }
    for (std::size_t d = 0; d < cache.head_width; ++d) {
        out[d] *= inverse;
    }
}

void attend(
    const HeadCache& cache, const Rows& queries, float* scores, float* out, std::size_t out_stride
) {
    for (std::size_t i = 0; i < queries.count; ++i) {
        attend_one(cache, i, queries.values + i * queries.stride, scores, out + i * out_stride);
    }
}

}  // namespace

const Kernels& scalar_kernels() {
    static constexpr Kernels kKernels{
        .path = Path::Scalar,
        .multiply = multiply,
        .normalise = normalise,
        .gate = gate,
        .gate_gelu = gate_gelu,
        .soft_cap = soft_cap,
        .attend = attend};
    return kKernels;
}

}  // namespace stacking::kernels
