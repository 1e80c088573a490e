// The loops of a reduction: sums of parts, sums of squares.
// Invariant: they give the same bits on every compiler and ISA level, because they use integers,
// conversions, and additions in a fixed order. Threading: pure functions. Cost: one pass.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace stages {

/// Adds the int64 little-endian numbers of `part` to `sums`; `part` has 8 bytes per element and
/// need not be aligned. Sums wrap around on overflow: a part is a peer's word, and the sums of
/// honest peers stay below 2^62.
void add_sums(std::span<const std::byte> part, std::span<std::int64_t> sums);

/// Sum of squares of one tensor in fp64: over blocks of 2^16 elements, block sums added in order.
/// Within a block, element i goes to running sum i mod 8; the eight running sums are added in pairs
/// at the end of the block.
/// Source: step protocol, section 5; the eight sums are own, so that vectors can be used.
double sum_of_squares(std::span<const float> tensor);

}  // namespace stages
