// Lossless packing: the k-th bytes of all elements lie side by side (a plane), and zstd packs each
// plane at level 1. Exponents of weights repeat and mantissas do not, which zstd sees only when
// they lie apart. Higher levels find nothing more in such bytes and cost many times as much.
// Bytes: element width u32, raw bytes u32, per plane stored bytes u32, then the planes; a plane
// that does not shrink is stored as it is. Raw: a multiple of the width, at most kTensorBytesMax.
// Invariant: for any input, unpacking writes exactly raw.size() bytes and allocates as many: one
// zstd frame per plane, no dictionary, a content size equal to the plane's.
// Threading: functions without state. Errors, all Reject: Malformed, Mismatch (a width or size
// other than the receiver's), TooLarge. After an error the output is unspecified.
// Cost: two passes, and zstd's. Source: own.
#pragma once

#include "swarm/base/result.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace compression {

using swarm::Result;

enum class ElementBytes : std::uint8_t { Two = 2, Four = 4, Eight = 8 };

/// The most bytes that packing gives: the case in which no plane shrank.
std::uint64_t packed_bytes_max(std::uint64_t raw_bytes, ElementBytes width);

Result<std::vector<std::byte>> pack_planes(std::span<const std::byte> raw, ElementBytes width);
/// `raw` must have the size that the schema or the manifest says.
Result<> unpack_planes(
    std::span<const std::byte> packed, ElementBytes width, std::span<std::byte> raw
);

/// Packs signed numbers around 0. They are zigzag-coded first (0, -1, 1, -2 -> 0, 1, 2, 3), so that
/// the upper planes of small numbers are zeros.
Result<std::vector<std::byte>> pack_integers(std::span<const std::int64_t> values);
Result<> unpack_integers(std::span<const std::byte> packed, std::span<std::int64_t> values);

}  // namespace compression
