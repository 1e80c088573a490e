// The data side of a join: one stage's state, frozen at a donor and gathered at a joiner. Who asks
// whom, and when, is the roles' business.
// Invariant: a download holds only chunks that fit their digest in the manifest, and its state has
// the manifest's hash.
// Threading: single strand. Cost: donor 12 bytes per parameter; joiner twice that in finish().
// Errors: Mismatch (size, number, hash); Reject: ask another donor. Source: step protocol, 7.
#pragma once

#include "stages/stage_state.hpp"

#include <cstdint>
#include <optional>
#include <set>
#include <vector>

namespace stages {

/// A copy of a state that stays as it is while training goes on.
class StateSnapshot {
 public:
    explicit StateSnapshot(StageState state);

    [[nodiscard]] swarm::ParameterVersion version() const { return state_.version(); }

    [[nodiscard]] swarm::Digest hash() const { return manifest_hash(manifest_); }

    /// Without a number: the manifest, 32 bytes per chunk.
    [[nodiscard]] swarm::Result<swarm::node::Payload> read(std::optional<std::uint32_t> chunk
    ) const;

 private:
    StageState state_;
    std::vector<swarm::Digest> manifest_;
};

class StateDownload {
 public:
    /// `expected`: the state hash of the log's STATE record, where it is known.
    StateDownload(
        swarm::run::StageLayout layout,
        swarm::ParameterVersion version,
        std::optional<swarm::Digest> expected
    );

    [[nodiscard]] swarm::ParameterVersion version() const { return version_; }

    [[nodiscard]] bool has_manifest() const { return !manifest_.empty(); }

    swarm::Result<> take_manifest(const swarm::node::Payload& payload);

    /// The lowest chunk that is neither here nor asked for; it counts as asked for from now on.
    std::optional<std::uint32_t> next_to_ask();
    /// The donor refused, or is gone: ask for it again.
    void ask_again(std::uint32_t chunk);
    void ask_all_again();

    /// A chunk that is here already is taken for the same one and dropped.
    swarm::Result<> take_chunk(std::uint32_t chunk, const swarm::node::Payload& payload);

    [[nodiscard]] std::uint32_t chunks_here() const { return here_; }

    [[nodiscard]] std::uint32_t chunks_total() const { return total_; }

    [[nodiscard]] bool complete() const { return has_manifest() && here_ == total_; }

    /// complete(). The download is used up.
    swarm::Result<StageState> finish();

 private:
    swarm::run::StageLayout layout_;
    swarm::ParameterVersion version_;
    std::optional<swarm::Digest> expected_;
    std::uint32_t total_;
    std::uint32_t here_ = 0;
    std::vector<swarm::Digest> manifest_;
    std::vector<swarm::node::Payload> chunks_;
    std::set<std::uint32_t> wanted_;  // neither here nor asked for
};

}  // namespace stages
