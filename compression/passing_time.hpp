// The time that a tensor takes from one peer to the next. The choices of a codec (`auto`), in a run
// and in a session, and `swarm plan` go by this time and take the least lossy codec that is fast
// enough.
// Threading: none. Cost: O(1).
#pragma once

#include "compression/codec.hpp"

#include <cstdint>

namespace compression {

/// Time that a less lossy codec may take, relative to the fastest codec.
inline constexpr double kSlowerAtMost = 1.03;

/// Seconds for coding at both ends, then for the line. `bytes_per_s` > 0.
inline double passing_s(const Codec& codec, std::uint64_t elements, double bytes_per_s) {
    // The time of both ends together, on a processor of 2020 with AVX2; a slow line costs far more.
    constexpr double kCodingSPerElement = 2e-9;
    const double coding_s =
        codec.id() == CodecId::None ? 0 : kCodingSPerElement * static_cast<double>(elements);
    return coding_s + static_cast<double>(codec.encoded_bytes(elements)) / bytes_per_s;
}

}  // namespace compression
