// Downloads the state of every stage at one version and turns it into files. The coordinator writes
// them: files first, manifest last, then the CHECKPOINT record. One checkpoint is made at a time.
// A donor that refuses, fails or gives another state is left out of the next orders.
// Invariant: a checkpoint is announced only after its manifest and its record are durable (I7).
// Threading: single strand. Memory: one copy of the run's whole state until it is written.
#pragma once

#include "swarm/coordinator/commit_log.hpp"
#include "swarm/coordinator/run_context.hpp"
#include "swarm/run/checkpoint_format.hpp"
#include "swarm/run/state_fetcher.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <vector>

namespace swarm::coordinator {

/// The hash in a STATE record of mode sparse. It leaves out the moments, which differ by replica.
Digest hash_of_weights(const run::StageLayout& layout, std::span<const node::Payload> chunks);

/// Members that may give a snapshot of the stage. A member that leaves is among them only if there
/// is no other, because it takes the snapshot along when its commit is out.
std::vector<SlotId> snapshot_donors(const run::Roster& roster, StageIndex stage);

class Checkpointer {
 public:
    explicit Checkpointer(std::shared_ptr<const run::CheckpointFormat> format)
        : format_(std::move(format)) {}

    /// Snapshot orders for the commit that makes `version`; empty while another checkpoint is under
    /// way, and when a stage has no donor.
    std::vector<protocol::SnapshotOrder> order(const RunContext& context, ParameterVersion version);
    /// Returns the chunks of a stage's state that need no download.
    using KnownOf = std::function<run::KnownChunks(StageIndex stage)>;

    /// Starts the downloads. Call it when the commit with the orders is out.
    void begin(const RunContext& context, const KnownOf& known_of, node::Turn turn);

    void on(PeerId from, const protocol::Chunk& chunk, node::Payload payload, node::Turn turn);
    void on(PeerId from, const protocol::ChunkRefused& refused, node::Turn turn);
    void donor_lost(PeerId donor, node::Turn turn);
    void wake(node::Turn turn);
    [[nodiscard]] TimePoint next_deadline() const;

    /// The files to be written, once, when the states of all stages are here. The checkpoint is
    /// dropped when a state differs from its STATE record.
    std::optional<run::CheckpointFiles> take_files(const RunHistory& history, node::Turn turn);

    [[nodiscard]] bool under_way() const { return !fetchers_.empty() || !donors_.empty(); }

    /// True once after a download failed for good. The next order() starts another checkpoint in
    /// any case.
    bool take_failure() { return std::exchange(failed_, false); }

    [[nodiscard]] ParameterVersion version() const { return version_; }

 private:
    void check(node::Turn turn);
    /// `able` are the members of a stage that may give its state.
    [[nodiscard]] SlotId choose_donor(const RunContext& context, std::span<const SlotId> able);

    std::shared_ptr<const run::CheckpointFormat> format_;
    ParameterVersion version_;
    std::vector<PeerId> donors_;  // by stage, of the order that was not begun yet
    std::vector<PeerId> asked_;   // by stage, of the downloads under way
    /// Members that refused, failed, or gave another state. They are asked only where all of their
    /// stage have failed.
    std::set<PeerId> failed_donors_;
    std::vector<run::StateFetcher> fetchers_;       // by stage
    std::vector<run::StageLayout> shared_layouts_;  // mode sparse only
    std::uint64_t step_ = 0;  // steps that have made version_; files are named by it
    bool failed_ = false;
};

}  // namespace swarm::coordinator
