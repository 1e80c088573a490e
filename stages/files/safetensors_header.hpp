// The header of a safetensors file: length (u64 little-endian), then JSON. The raw values follow
// it.
// Invariant: entries that parse tile the values in some order without holes or overlaps, each
// entry's size fits its shape, no name comes twice. Every dtype of whole bytes is understood.
// Threading: pure functions. Errors: Malformed, TooLarge (kSafetensorsHeaderBytesMax), Unsupported
// (another dtype); all Reject.
// Source: github.com/huggingface/safetensors, README "Format".
#pragma once

#include "swarm/base/result.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace stages {

struct SafetensorsEntry {
    std::string name;
    std::string dtype;                 // "F32", "BF16", ...
    std::vector<std::uint32_t> shape;  // row-major
    std::uint64_t begin = 0;           // offset in bytes from the end of the header
    std::uint64_t end = 0;             // offset of the byte after the last one
};

/// Maximum bytes of the JSON, for every reader here; it is the bound of the format's own reader.
inline constexpr std::uint64_t kSafetensorsHeaderBytesMax = 100'000'000;

/// Bytes of the length, which precedes the JSON.
inline constexpr std::size_t kSafetensorsLengthBytes = 8;

/// Returns the bytes of the JSON. `file_bytes` is the size of the whole file.
swarm::Result<std::uint64_t> read_safetensors_length(
    std::span<const std::byte, kSafetensorsLengthBytes> bytes, std::uint64_t file_bytes
);

/// Returns the entries in the order in which their values lie in the file. `value_bytes` is the
/// size
/// of all values, which follow the header.
swarm::Result<std::vector<SafetensorsEntry>> parse_safetensors_header(
    std::string_view json, std::uint64_t value_bytes
);

/// Returns length and JSON, padded so that the values begin at a multiple of 8. Entries must tile
/// the values; names are unique and not "__metadata__". `format` is "pt", which transformers wants,
/// or empty.
std::string make_safetensors_header(
    std::span<const SafetensorsEntry> entries, std::string_view format
);

}  // namespace stages
