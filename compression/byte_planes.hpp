// Lossless: the k-th bytes of all elements side by side (a plane), each plane by zstd at level 1.
// Exponents of weights repeat and mantissas do not, which zstd sees only when they lie apart.
// Higher levels find nothing more in such bytes and cost many times as much.
// Bytes: element width u32, raw bytes u32, per plane stored bytes u32, then the planes; a plane
// that does not shrink is stored as it is. Raw: a multiple of the width, at most kTensorBytesMax.
// Invariant: unpacking writes exactly raw.size() bytes and allocates one plane, whatever the input:
// one zstd frame per plane, no dictionary, its content size that of the plane.
// Threading: functions without state. Errors, all Reject: Malformed, Mismatch (another width or
// size than the receiver knows it to be), TooLarge. After an error the output is unspecified.
// Cost: one pass per plane and zstd's. Source: own.
#pragma once

#include "swarm/base/result.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace compression {

using swarm::Result;

enum class ElementBytes : std::uint8_t { Two = 2, Four = 4, Eight = 8 };

/// What packing gives at most: nothing shrank.
std::uint64_t packed_bytes_max(std::uint64_t raw_bytes, ElementBytes width);

Result<std::vector<std::byte>> pack_planes(std::span<const std::byte> raw, ElementBytes width);
/// `raw` has the size that the schema or the manifest says.
Result<> unpack_planes(
    std::span<const std::byte> packed, ElementBytes width, std::span<std::byte> raw
);

/// Signed numbers around 0, zigzag first (0, -1, 1, -2 -> 0, 1, 2, 3), so that the upper planes of
/// small ones are zeros.
Result<std::vector<std::byte>> pack_integers(std::span<const std::int64_t> values);
Result<> unpack_integers(std::span<const std::byte> packed, std::span<std::int64_t> values);

}  // namespace compression
