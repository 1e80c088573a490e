// The state of one stage as a file, so that a peer that restarts need not download it again. In
// mode sparse a second file of this format holds what the peer has not sent yet, which no other
// peer has.
//   magic "swrmstt1" | coordinator 4 x u64 | gen, step, stage, bytes of the run file, bytes of the
//   state: u64 each | run file | SHA-256 of each 1 MiB chunk | SHA-256 of all before | chunks
// All numbers are little-endian. Invariant: a parsed file is what was written, bit for bit; a
// flipped bit or a missing end is an error. Threading: no state. Memory: one copy of the state.
// Errors, all Reject: NotFound (no file), Malformed (the text says where); the caller starts
// without the file. Cost: O(bytes), SHA-256 of each byte.
#pragma once

#include "swarm/base/digest.hpp"
#include "swarm/base/ids.hpp"
#include "swarm/base/result.hpp"
#include "swarm/node/payload.hpp"

#include <filesystem>
#include <iosfwd>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace stages {

struct CachedState {
    swarm::PeerId coordinator;  // names the run, because a coordinator keeps its key with its run
    swarm::ParameterVersion version;
    swarm::StageIndex stage;
    std::string run_file;
    std::vector<swarm::node::Payload> chunks;  // chunks as StageState::chunk() returns them
};

/// Returns the parts of the file in order; the chunks are not copied.
std::vector<swarm::node::Payload> to_file(const CachedState& state);

/// Cuts values, such as the buffer of mode sparse, into the chunks of such a file.
std::vector<swarm::node::Payload> to_chunks(std::span<const float> values);
/// Joins the chunks to values; empty unless there are exactly `count` values.
std::optional<std::vector<float>> to_values(const CachedState& state, std::uint64_t count);

swarm::Result<CachedState> parse_cached_state(std::istream& file);
swarm::Result<CachedState> read_cached_state(const std::filesystem::path& file);

}  // namespace stages
