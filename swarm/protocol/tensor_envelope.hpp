// What a tensor's raw bytes mean: dtype, shape and codec. On the wire: a msgpack map before the
// bytes, decoded with explicit limits.
// Errors: Malformed, TooLarge (Reject).
#pragma once

#include "swarm/base/result.hpp"
#include "swarm/protocol/limits.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace swarm::protocol {

enum class Dtype : std::uint8_t { Float32, Int64, Bytes };

constexpr std::uint64_t bytes_of(Dtype dtype) {
    return dtype == Dtype::Float32 ? 4 : dtype == Dtype::Int64 ? 8 : 1;
}

/// Number in the wire format; names are in compression/registry. None: little-endian elements.
/// BytePlanes: lossless, of what is hashed: chunks of a state and parts of a reduction.
/// Sparse: of pseudo-gradients.
enum class CodecId : std::uint8_t {
    None,
    Int8,
    Bf16,
    Fp16,
    Int4,
    HadamardInt4,
    BytePlanes,
    Sparse
};
inline constexpr CodecId kLastCodecId = CodecId::Sparse;
inline constexpr CodecId kLastRowCodec = CodecId::Fp16;  // of what passes between a session's hops
inline constexpr CodecId kLastLegCodec = CodecId::HadamardInt4;  // of what passes between stages

struct TensorEnvelope {
    Dtype dtype = Dtype::Bytes;  // of the decoded elements
    CodecId codec = CodecId::None;
    std::vector<std::uint32_t> shape;  // (B, T, C) for activations, (elements) for slices

    friend bool operator==(const TensorEnvelope&, const TensorEnvelope&) = default;

    /// Elements of the decoded tensor; 0 when a dimension is 0. Cannot overflow after decoding:
    /// decode refuses shapes above kTensorBytesMax.
    [[nodiscard]] std::uint64_t elements() const {
        std::uint64_t count = shape.empty() ? 0 : 1;
        for (const std::uint32_t dimension : shape) {
            count *= dimension;
        }
        return count;
    }
};

std::vector<std::byte> encode_envelope(const TensorEnvelope& envelope);
Result<TensorEnvelope> decode_envelope(std::span<const std::byte> bytes);

}  // namespace swarm::protocol
