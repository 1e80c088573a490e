// Measures every codec on every path that this processor has, and byte planes, on one core.
// Unit: CPU time of this thread, relative to memcpy of the same fp32 tensor. All rows take turns,
// so that clock, cache and neighbours are the same for all; a figure is the median of its turns.
// Errors: a state file that cannot be read.
#pragma once

#include "swarm/base/result.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace swarm::bench {

inline constexpr std::size_t kCodecBytes = 2U << 20;  // hot: the bytes stay in the shared cache
inline constexpr std::size_t kCodecBytesLarge = 16U << 20;
/// Most bytes of state that are packed; a state file may be larger.
inline constexpr std::size_t kStateBytesMax = 64U << 20;

struct CodecRow {
    std::string codec;  // with its rounding where it draws: "int4 stochastic"
    std::string path;
    std::size_t tensor_bytes = 0;
    double encode_over_memcpy = 0;
    double decode_over_memcpy = 0;
    double decode_add_over_memcpy = 0;  // decodes and adds to a sum
    double gb_per_s = 0;                // fp32 bytes, encoding
};

struct PlanesRow {
    std::string data;
    double ratio = 0;  // raw bytes over packed bytes
    double pack_mb_per_s = 0;
    double unpack_mb_per_s = 0;
};

/// Bytes that one member sends another in a reduction.
struct PartsRow {
    std::string data;
    double bytes_per_element = 0;  // 8 without packing
    double pack_mb_per_s = 0;      // raw, the 8 bytes
    double unpack_mb_per_s = 0;
};

std::vector<CodecRow> measure_codecs(std::size_t tensor_bytes, std::size_t rounds);

/// `state_file`: fp32 training state, such as the files of a checkpoint; empty: made-up weights and
/// moments.
Result<PlanesRow> measure_planes(const std::string& state_file, std::size_t rounds);

/// Measures made-up sums of gradients: tests/torch measures the demo model's.
PartsRow measure_parts(std::size_t rounds);

}  // namespace swarm::bench
