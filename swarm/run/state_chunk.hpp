// Packs the chunks of a state for the line: as byte planes where these are smaller, else raw. Only
// raw chunks are hashed, kept and written to disk.
// Both directions run inline in the turn that sends or receives the chunk, one chunk per event. A
// chunk has kChunkBytes at most, so at the 400 to 800 MB/s of a core it takes 2 to 3 ms to pack and
// 1 ms to unpack. A job on the device would wait behind legs that take many times as long, and a
// coordinator has no device.
// Threading: pure. Errors of unpack_chunk, all Reject: Malformed, Mismatch. It allocates
// `raw_bytes` and no more.
// Source: compression/byte_planes.hpp. The version of zstd decides the packed bytes, so no hash
// depends on them.
#pragma once

#include "swarm/base/result.hpp"
#include "swarm/node/payload.hpp"
#include "swarm/protocol/limits.hpp"

#include <cstdint>

namespace swarm::run {

/// Chunks that a donor gives in a second, to all joiners together; beside a reduction, which needs
/// the same line, so many times fewer (stages/server/snapshots).
inline constexpr std::int64_t kChunksPerSecond = 50;
inline constexpr std::int64_t kSlowerBesideReduction = 20;
/// Bytes of a state as byte planes for each of its own: measured with states of the demo model by
/// tests/torch/reduce_parts_test.
inline constexpr double kPackedStateShare = 0.845;

/// Chunks of a state; the last one may be shorter. `most` is StageLayout::chunk_bytes_max, here and
/// below.
std::uint32_t chunk_count(std::uint64_t state_bytes, std::uint64_t most = protocol::kChunkBytes);
/// Raw size of one chunk.
std::uint64_t chunk_bytes(
    std::uint64_t state_bytes, std::uint32_t chunk, std::uint64_t most = protocol::kChunkBytes
);

/// `raw` holds whole fp32 numbers.
node::Payload pack_chunk(node::Payload raw);
/// `raw_bytes` is the size of the chunk by the stage's layout.
Result<node::Payload> unpack_chunk(node::Payload sent, std::uint64_t raw_bytes);

}  // namespace swarm::run
