// Every codec on every path that this processor has, and byte planes, on one core.
// Unit: CPU time of this thread, relative to memcpy of the same fp32 tensor. All take turns, so
// that clock, cache and neighbours are the same for all; the median of each.
// Errors: a state file that cannot be read.
#pragma once

#include "swarm/base/result.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace swarm::bench {

inline constexpr std::size_t kCodecBytes = 2U << 20;  // hot: stays in the shared cache
inline constexpr std::size_t kCodecBytesLarge = 16U << 20;
/// Of state that is packed; a state file may be larger.
inline constexpr std::size_t kStateBytesMax = 64U << 20;

struct CodecRow {
    std::string codec;  // with its rounding where it draws: "int4 stochastic"
    std::string path;
    std::size_t tensor_bytes = 0;
    double encode_over_memcpy = 0;
    double decode_over_memcpy = 0;
    double decode_add_over_memcpy = 0;  // decoded and added to a sum
    double gb_per_s = 0;                // of fp32, encoding
};

struct PlanesRow {
    std::string data;
    double ratio = 0;  // raw bytes over packed bytes
    double pack_mb_per_s = 0;
    double unpack_mb_per_s = 0;
};

/// What one member sends another in a reduction.
struct PartsRow {
    std::string data;
    double bytes_per_element = 0;  // 8 as they are
    double pack_mb_per_s = 0;      // of the 8 bytes
    double unpack_mb_per_s = 0;
};

std::vector<CodecRow> measure_codecs(std::size_t tensor_bytes, std::size_t rounds);

/// `state_file`: fp32 training state, such as the files of a checkpoint; empty: made-up weights and
/// moments.
Result<PlanesRow> measure_planes(const std::string& state_file, std::size_t rounds);

/// Made-up sums of gradients: the demo model's are measured by tests/torch.
PartsRow measure_parts(std::size_t rounds);

}  // namespace swarm::bench
