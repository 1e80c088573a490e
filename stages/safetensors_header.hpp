// The header of a safetensors file: length (u64 little-endian), JSON; then follow the raw values.
// Invariant: entries that parse tile the values in some order without holes or overlaps, each one's
// size fits its shape, no name comes twice. Any dtype of whole bytes is understood.
// Errors: Malformed, TooLarge (header above 16 MiB), Unsupported (another dtype); all Reject.
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
    std::uint64_t begin = 0;           // from the end of the header, in bytes
    std::uint64_t end = 0;
};

/// Before the JSON.
inline constexpr std::size_t kSafetensorsLengthBytes = 8;

/// How long the JSON is; `file_bytes`: of the whole file.
swarm::Result<std::uint64_t> read_safetensors_length(
    std::span<const std::byte, kSafetensorsLengthBytes> bytes, std::uint64_t file_bytes
);

/// In the order in which they lie in the file. `value_bytes`: what follows the header.
swarm::Result<std::vector<SafetensorsEntry>> parse_safetensors_header(
    std::string_view json, std::uint64_t value_bytes
);

/// Length and JSON, so that the values begin at a multiple of 8. Entries must tile the values;
/// names are unique and not "__metadata__". `format`: "pt" as transformers wants it, or empty.
std::string make_safetensors_header(
    std::span<const SafetensorsEntry> entries, std::string_view format
);

}  // namespace stages
