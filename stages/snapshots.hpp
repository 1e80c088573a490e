// The donor's side of a state download: freezes a copy of the state right after a commit that asks
// for it, and serves its manifest and chunks while training goes on.
// Invariant: a snapshot never changes; at most kSnapshotsMax are kept, the oldest goes first.
// Threading: single strand; copies and hashes are made on the device. Memory: one state each.
// Source: step protocol, section 7.
#pragma once

#include "stages/server_context.hpp"

#include <deque>
#include <memory>
#include <vector>

namespace stages {

class Snapshots {
 public:
    explicit Snapshots(ServerContext& context) : context_(context) {}

    /// The state has just become this version, or has it still.
    void freeze(ParameterVersion version, node::Turn turn);
    void on(PeerId from, const protocol::Fetch& fetch, node::Turn turn);

    void forget_all() { kept_.clear(); }

 private:
    static constexpr std::size_t kSnapshotsMax = 2;

    struct Snapshot {
        ParameterVersion version;
        std::shared_ptr<const StageState> state;  // null until the device has copied it
        std::vector<swarm::Digest> manifest;
    };

    ServerContext& context_;
    std::deque<Snapshot> kept_;
};

}  // namespace stages
