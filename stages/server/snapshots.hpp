// The donor's side of a state download: freezes a copy of the state right after a commit that
// orders it, and serves its manifest and chunks while training goes on.
// Invariants: a snapshot never changes. At most kSnapshotsMax are kept, fewer where the memory lent
// has no room. A new snapshot replaces the one that was fetched from least recently. While all are
// in use it is owed: a joiner that asks is told Busy, asks again, and gets it once there is room,
// if the state still has that version. Beyond run::kChunksPerSecond every joiner is told Busy,
// because each chunk costs the strand milliseconds; during a reduction, which needs the same line,
// beyond a twentieth of that.
// Threading: single strand; hashes are made on the device, a chunk is packed when it is fetched
// (state_chunk.hpp). Memory: one state per snapshot from the next commit on, which copies what the
// snapshot shares with the state. It is kept until at most kForgottenAfter after its last fetch.
// Source: step protocol, section 7.
#pragma once

#include "stages/server/server_context.hpp"
#include "swarm/run/state_chunk.hpp"

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

namespace stages {

class Snapshots {
 public:
    enum class Pace : std::uint8_t { Full, BesideReduction };

    explicit Snapshots(ServerContext& context) : context_(context) {}

    /// Freezes a snapshot of the state, which has this version. Without room it is owed.
    void freeze(ParameterVersion version, node::Turn turn);
    /// Answers a joiner by a chunk, or by a refusal.
    void on(PeerId from, const protocol::Fetch& fetch, Pace pace, node::Turn turn);

    /// Drops the snapshots that nobody has fetched from for kForgottenAfter.
    void forget_idle(node::Turn turn);
    /// Drops all snapshots; is called when the peer gets another stage.
    void forget_all(node::Turn turn);

    [[nodiscard]] std::size_t kept() const { return kept_.size(); }

 private:
    static constexpr std::size_t kSnapshotsMax = 2;
    /// Time after a fetch in which a snapshot is in use: a download always has several chunks of
    /// 1 MiB under way.
    static constexpr swarm::Duration kInUseFor = std::chrono::seconds(2);
    /// A joiner fetches within this time of the order, or asks anew (Joining::kSnapshotWithin).
    static constexpr swarm::Duration kForgottenAfter = std::chrono::seconds(60);
    /// Chunks per second to all joiners together: 400 Mb/s from each donor.
    static constexpr swarm::Duration kPerChunk =
        swarm::Duration(std::chrono::seconds(1)) / swarm::run::kChunksPerSecond;
    /// Pause per chunk beside a reduction: 20 Mb/s from each donor, a tenth of a home's line.
    static constexpr swarm::Duration kPerChunkBesideReduction =
        swarm::run::kSlowerBesideReduction * kPerChunk;
    static constexpr swarm::Duration kBurst = std::chrono::milliseconds(500);

    struct Snapshot {
        ParameterVersion version;
        TimePoint used_at;
        std::shared_ptr<const StageState> state;  // null until the device has frozen it
        std::vector<swarm::Digest> manifest;
    };

    [[nodiscard]] Snapshot* find(ParameterVersion version);
    [[nodiscard]] bool has_room() const;
    /// Charges one answer to the pace; false when the pace allows none at this time.
    [[nodiscard]] bool spend(Pace pace, TimePoint now);
    /// Gives graphs the memory that snapshots leave; is called when their number changes.
    void divide_memory(node::Turn turn);

    ServerContext& context_;
    std::deque<Snapshot> kept_;
    std::optional<ParameterVersion> owed_;    // the last version ordered, while there was no room
    TimePoint spent_until_ = swarm::kAtOnce;  // time up to which the pace is used up
};

}  // namespace stages
