// The inner loops of the codecs, once per instruction set. The files in compression/ add roles,
// sizes, tails and errors.
// Invariant: every path gives the same bits on all inputs (default rounding, denormals not
// flushed); the scalar path is the reference.
// Threading: functions without state. Groups are of 64 values, wide ones of 256. A comment beside
// each loop says which bytes it reads and writes; it touches no others. Errors: a loop returns
// false, and the output is then unspecified.
// Cost: one pass; the groups' scales are computed for 8 or 16 groups at once, because two dependent
// divisions per group would cost more than all the rest. Source: own.
#pragma once

#include "swarm/base/cpu_path.hpp"

#include <cstddef>
#include <cstdint>

namespace compression::simd {

inline constexpr std::size_t kGroup = 64;
/// The wide group is measured beside kGroup, but no codec sends it: it has fewer scales, and one
/// large value spoils more.
inline constexpr std::size_t kWideGroup = 256;
inline constexpr std::size_t kInt8GroupBytes = sizeof(float) + kGroup;
inline constexpr std::size_t kWideInt8GroupBytes = sizeof(float) + kWideGroup;
inline constexpr std::size_t kInt4GroupBytes = sizeof(std::uint16_t) + kGroup / 2;

using Path = swarm::CpuPath;

struct Kernels {
    Path path;
    /// Returns the bits of the largest |x|; NaN and infinity are above all numbers. 0 for no
    /// values.
    std::uint32_t (*largest_magnitude)(const float* values, std::size_t count);

    /// Writes 2 bytes per finite value; a value beyond the largest number of the format becomes
    /// that number.
    void (*encode_bf16)(const float* values, std::size_t count, std::byte* out);
    void (*decode_bf16)(const std::byte* bytes, std::size_t count, float* out);
    void (*encode_fp16)(const float* values, std::size_t count, std::byte* out);
    void (*decode_fp16)(const std::byte* bytes, std::size_t count, float* out);

    /// A group takes kInt8GroupBytes. False: NaN or infinity; bytes that no encoder writes.
    bool (*encode_int8)(const float* values, std::size_t groups, std::byte* out);
    bool (*decode_int8)(const std::byte* bytes, std::size_t groups, float* out);
    /// Adds the values that decode_int8 gives.
    bool (*add_int8)(const std::byte* bytes, std::size_t groups, float* sum);

    /// The same for wide groups.
    bool (*encode_wide_int8)(const float* values, std::size_t groups, std::byte* out);
    bool (*decode_wide_int8)(const std::byte* bytes, std::size_t groups, float* out);
    bool (*add_wide_int8)(const std::byte* bytes, std::size_t groups, float* sum);

    /// A group takes kInt4GroupBytes. False as above.
    bool (*encode_int4)(const float* values, std::size_t groups, std::byte* out);
    /// Each value goes up or down by the draw of (seed, group, place); the first group has this
    /// number.
    bool (*encode_int4_stochastic
    )(const float* values,
      std::size_t groups,
      std::uint64_t seed,
      std::uint64_t first_group,
      std::byte* out);
    /// `scale_max`: a larger scale is refused.
    bool (*decode_int4)(const std::byte* bytes, std::size_t groups, float scale_max, float* out);

    /// Orthonormal Walsh-Hadamard transform of each group, its own inverse; may work in place.
    void (*hadamard)(const float* values, std::size_t groups, float* out);
};

/// Null where this processor lacks the instructions.
const Kernels* kernels_of(Path path);
/// The fastest kernels that this processor has.
const Kernels& best_kernels();

// Each file defines one of these; call them through kernels_of().
const Kernels& scalar_kernels();
const Kernels& avx2_kernels();
const Kernels& avx512_kernels();

}  // namespace compression::simd
