// Pulls the state of every stage at one version and has it written to disk: files first, manifest
// last, then the CHECKPOINT record. One checkpoint at a time.
// Invariant: a checkpoint is announced only after its manifest and its record are durable (I7).
// Memory: one copy of the run's whole state while it is being written.
#pragma once

#include "swarm/run/checkpoint_format.hpp"
#include "swarm/run/commit_log.hpp"
#include "swarm/run/run_context.hpp"
#include "swarm/run/state_fetcher.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <vector>

namespace swarm::run {

/// Who may give a snapshot of the stage: one that leaves takes it along when its commit is out.
std::vector<SlotId> snapshot_donors(const Roster& roster, StageIndex stage);

class Checkpointer {
 public:
    explicit Checkpointer(std::shared_ptr<const CheckpointFormat> format)
        : format_(std::move(format)) {}

    /// Orders for the commit that makes `version`; empty when one is still under way.
    std::vector<protocol::SnapshotOrder> order(const RunContext& context, ParameterVersion version);
    /// The commit with those orders is out.
    void begin(const RunContext& context, node::Turn turn);

    void on(PeerId from, const protocol::Chunk& chunk, node::Payload payload, node::Turn turn);
    void on(PeerId from, const protocol::ChunkRefused& refused, node::Turn turn);
    void donor_lost(PeerId donor, node::Turn turn);
    void wake(node::Turn turn);
    [[nodiscard]] TimePoint next_deadline() const;

    /// Once, when all stages are here: the files to be written.
    /// A state that is not the one of its STATE record is dropped, and the checkpoint with it.
    std::optional<CheckpointFiles> take_files(const RunHistory& history, node::Turn turn);

    [[nodiscard]] bool under_way() const { return !fetchers_.empty() || !donors_.empty(); }

    /// True once after a download failed for good; the next order() starts anew either way.
    bool take_failure() { return std::exchange(failed_, false); }

    [[nodiscard]] ParameterVersion version() const { return version_; }

 private:
    void check(node::Turn turn);

    std::shared_ptr<const CheckpointFormat> format_;
    ParameterVersion version_;
    std::vector<PeerId> donors_;
    std::vector<StateFetcher> fetchers_;       // by stage
    std::vector<StageLayout> shared_layouts_;  // of mode sparse
    std::uint64_t step_ = 0;                   // files count steps, versions count turns
    bool failed_ = false;
};

}  // namespace swarm::run
