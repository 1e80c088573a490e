// How a chunk of a state travels: packed as byte planes where they are smaller, else as it is. What
// is hashed, kept and written to disk is always the raw chunk.
// Both directions run inline in the turn that sends or receives the chunk, one chunk per event: it
// is kChunkBytes at most, 2 to 3 ms to pack and 1 ms to unpack, at the 400 to 800 MB/s of a core. A
// job would wait behind legs of many times that on the device, which has its own work to do, and
// a coordinator has no device.
// Errors of unpack_chunk, all Reject: Malformed, Mismatch; nothing is allocated but `raw_bytes`.
// Source: compression/byte_planes.hpp; its zstd decides the packed bytes, no hash depends on them.
#pragma once

#include "swarm/base/result.hpp"
#include "swarm/node/payload.hpp"

#include <cstdint>

namespace swarm::run {

/// Of a state of so many bytes; the last one may be shorter.
std::uint32_t chunk_count(std::uint64_t state_bytes);
/// Size of that chunk, raw.
std::uint64_t chunk_bytes(std::uint64_t state_bytes, std::uint32_t chunk);

/// `raw`: whole fp32 numbers.
node::Payload pack_chunk(node::Payload raw);
/// `raw_bytes`: as the layout says.
Result<node::Payload> unpack_chunk(node::Payload sent, std::uint64_t raw_bytes);

}  // namespace swarm::run
