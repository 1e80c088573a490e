// The loops of a reduction: sums of parts, sums of squares.
// Same bits on every compiler and ISA level: integers, conversions, and additions in fixed order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace stages {

/// Adds int64 little-endian `part` to `sums`; part has 8 bytes per element, aligned or not. Wraps
/// around on overflow: a part is a peer's word, and honest ones stay below 2^62.
void add_sums(std::span<const std::byte> part, std::span<std::int64_t> sums);

/// Of one tensor, in fp64: blocks of 2^16 elements, block sums added in order. Within a block eight
/// running sums take the elements in turn and are added in pairs at its end.
/// Source: step protocol, section 5; the eight sums are ours, for the sake of vectors.
double sum_of_squares(std::span<const float> tensor);

}  // namespace stages
