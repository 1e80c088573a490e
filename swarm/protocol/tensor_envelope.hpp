// The meaning of a tensor's raw bytes: dtype, shape and codec. On the wire an envelope is a msgpack
// map before the bytes; it is decoded with explicit limits.
// Errors: Malformed, TooLarge; the reaction is always Reject.
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

/// The number of a codec in the wire format; compression/registry has the names. None means
/// little-endian elements. BytePlanes is lossless, for data that is hashed: chunks of a state and
/// parts of a reduction. Sparse codes pseudo-gradients.
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
inline constexpr CodecId kLastRowCodec = CodecId::Fp16;          // for rows between session hops
inline constexpr CodecId kLastLegCodec = CodecId::HadamardInt4;  // for tensors between stages

struct TensorEnvelope {
    Dtype dtype = Dtype::Bytes;  // type of the decoded elements
    CodecId codec = CodecId::None;
    std::vector<std::uint32_t> shape;  // (B, T, C) for activations, (elements) for slices

    friend bool operator==(const TensorEnvelope&, const TensorEnvelope&) = default;

    /// Returns the number of elements of the decoded tensor; 0 when a dimension is 0. The product
    /// of a decoded envelope's shape cannot overflow: decode_envelope() refuses shapes above
    /// kTensorBytesMax.
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
