// The formats of stored weights, and their decoding to fp32. The names are those of GGUF and
// safetensors.
//   Q8_0  34 bytes per 32 values: fp16 d, int8 q[32];          value = d * q
//   Q4_1  20 bytes per 32 values: fp16 d, fp16 m, 16 bytes;    value = d * q + m, value j in the
//         low half of byte j, value j + 16 in its high half
// Invariant: results are bit-exact on every machine: d * q fits into 24 bits, so at most one
// rounding happens. Threading: pure functions. Errors: none; the caller checks sizes
// (SWARM_ASSERT).
// Cost: a few operations per value. Source: ggml/src/ggml-common.h of llama.cpp (block_q8_0,
// block_q4_1); the code is own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace stacking::models {

enum class WeightType : std::uint8_t { F32, F16, BF16, Q4_1, Q8_0 };

inline constexpr std::size_t kWeightTypes = 5;

std::string_view name_of(WeightType type);

/// Number of values that are stored together, and the bytes that they take.
struct BlockSize {
    std::uint32_t values;
    std::uint32_t bytes;
};

BlockSize block_size(WeightType type);

/// REQUIRES: `bytes` are whole blocks, and `values` has room for exactly their values.
void decode_weights(WeightType type, std::span<const std::byte> bytes, std::span<float> values);

}  // namespace stacking::models
