// The donor's side of a state download: freezes a copy of the state right after a commit that asks
// for it, and serves its manifest and chunks while training goes on.
// Invariants: a snapshot never changes; at most kSnapshotsMax are kept, fewer where the memory lent
// has no room for them. A new one takes the place of the one that was left alone longest; while all
// are being fetched it is owed: whoever wants it is told Busy, asks again, and has it as soon as
// there is room, if the state is still that one. Beyond kChunksPerSecond all are told Busy: each
// chunk costs its strand milliseconds, and it trains meanwhile; during a reduction, which needs the
// same line, beyond a twentieth of that.
// Threading: single strand; hashes are made on the device, a chunk is packed when it is asked for
// (state_chunk.hpp). Memory: one state each, from the next commit on, which copies what a snapshot
// shares with the state; for kForgottenAfter at most beyond the last fetch.
// Source: step protocol, section 7.
#pragma once

#include "stages/server_context.hpp"

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

    /// The state has just become this version, or has it still.
    void freeze(ParameterVersion version, node::Turn turn);
    void on(PeerId from, const protocol::Fetch& fetch, Pace pace, node::Turn turn);

    /// Those that nobody fetches any more.
    void forget_idle(node::Turn turn);
    /// The state is another one now.
    void forget_all(node::Turn turn);

    [[nodiscard]] std::size_t kept() const { return kept_.size(); }

 private:
    static constexpr std::size_t kSnapshotsMax = 2;
    /// Since the last fetch: a download has several chunks of 1 MiB under way all the time.
    static constexpr swarm::Duration kInUseFor = std::chrono::seconds(2);
    /// A joiner begins within so long of the order (Joining::kSnapshotWithin).
    static constexpr swarm::Duration kForgottenAfter = std::chrono::seconds(60);
    /// Over all who fetch; 400 Mb/s from each donor.
    static constexpr std::int64_t kChunksPerSecond = 50;
    static constexpr swarm::Duration kPerChunk =
        swarm::Duration(std::chrono::seconds(1)) / kChunksPerSecond;
    /// 20 Mb/s from each donor: a tenth of the line of a home.
    static constexpr swarm::Duration kPerChunkBesideReduction = 20 * kPerChunk;
    static constexpr swarm::Duration kBurst = std::chrono::milliseconds(500);

    struct Snapshot {
        ParameterVersion version;
        TimePoint used_at;
        std::shared_ptr<const StageState> state;  // null until the device has frozen it
        std::vector<swarm::Digest> manifest;
    };

    [[nodiscard]] Snapshot* find(ParameterVersion version);
    [[nodiscard]] bool has_room() const;
    /// Takes one answer's time from what is left for donating.
    [[nodiscard]] bool spend(Pace pace, TimePoint now);
    /// Their number changed: graphs have the rest of the memory lent.
    void share_memory(node::Turn turn);

    ServerContext& context_;
    std::deque<Snapshot> kept_;
    std::optional<ParameterVersion> owed_;    // the last that was ordered, while it had no room
    TimePoint spent_until_ = swarm::kAtOnce;  // answers given, at their rate
};

}  // namespace stages
