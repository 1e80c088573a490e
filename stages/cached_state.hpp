// The state of one stage as a file: what a peer that restarts needs so as not to download it again.
// In mode sparse, by another name, what the peer has not sent yet: no other has that.
//   magic "swrmstt1" | coordinator 4 x u64 | gen, step, stage, bytes of the run file, bytes of the
//   state: u64 each | run file | SHA-256 of each 1 MiB chunk | SHA-256 of all before | chunks
// Little-endian. Invariant: what read() returns is what was written, bit for bit; a flipped bit or
// a missing end is an error. Threading: stateless. Memory: one copy of the state.
// Errors: NotFound (no file), Malformed (says where, Reject). Cost: O(bytes), SHA-256 of each.
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
    swarm::PeerId coordinator;  // of the run; a coordinator keeps its key with its run
    swarm::ParameterVersion version;
    swarm::StageIndex stage;
    std::string run_file;
    std::vector<swarm::node::Payload> chunks;  // as StageState::chunk()
};

/// The parts of the file, in order; the chunks are not copied.
std::vector<swarm::node::Payload> to_file(const CachedState& state);

/// Values, such as a buffer of mode sparse, as the chunks of such a file.
std::vector<swarm::node::Payload> to_chunks(std::span<const float> values);
/// Nothing, unless there are so many.
std::optional<std::vector<float>> to_values(const CachedState& state, std::uint64_t count);

swarm::Result<CachedState> parse_cached_state(std::istream& file);
swarm::Result<CachedState> read_cached_state(const std::filesystem::path& file);

}  // namespace stages
