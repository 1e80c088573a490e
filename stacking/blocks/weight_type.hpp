// The formats of stored weights: their names, blocks, and decoding to fp32. Names are those of GGUF
// and safetensors. block_readers.hpp has the bytes of each block.
//   quantised types   value = scale x level + minimum; scale and minimum are those of a group
// Invariant: values have the bits of `gguf.quants.dequantize` (PyPI gguf), NaN payloads aside, on
// every machine: scale x level fits into 24 bits, so at most the addition rounds, and a fused
// multiply-add gives the same bits.
// Threading: pure functions. Errors: none; the caller checks sizes (SWARM_ASSERT).
// Cost: a few operations per value. Source: ggml/src/ggml-common.h of llama.cpp; the code is own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace stacking::blocks {

/// The numbers are part of digests of models (model_digest.hpp): new types follow at the end.
enum class WeightType : std::uint8_t {
    F32,
    F16,
    BF16,
    Q4_1,
    Q8_0,
    Q4_0,
    Q5_0,
    Q5_1,
    Q2_K,
    Q3_K,
    Q4_K,
    Q5_K,
    Q6_K,
    IQ4_NL,
    IQ4_XS,
    F8_E4M3
};

inline constexpr std::size_t kWeightTypes = 16;

std::string_view name_of(WeightType type);
std::optional<WeightType> parse_weight_type(std::string_view name);

/// Number of values that are stored together, and the bytes that they take.
struct BlockSize {
    std::uint32_t values;
    std::uint32_t bytes;
};

BlockSize block_size(WeightType type);

/// REQUIRES: `bytes` are whole blocks, and `values` has room for exactly their values.
void decode_weights(WeightType type, std::span<const std::byte> bytes, std::span<float> values);

}  // namespace stacking::blocks
