// A whole run on virtual time: the production coordinator and stage servers with the oracle model,
// and the checker watching. Peers 1..n are servers, peer 1,000,000 is the coordinator.
// Invariant: a function of (options, calls); its commits are compared with train --single.
#pragma once

#include "sim/peer.hpp"
#include "sim/run/checker.hpp"
#include "sim/run/liar.hpp"
#include "sim/world.hpp"
#include "stages/compute/oracle_compute.hpp"
#include "stages/files/checkpoint.hpp"
#include "stages/server/stage_server.hpp"
#include "swarm/coordinator/coordinator.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace sim {

struct RunWorldOptions {
    swarm::run::RunConfig config;
    std::uint32_t peers = 4;
    std::uint64_t seed = 1;
    WorldOptions world = {};
    PeerOptions peer = {};
    swarm::run::PlantedBugs bugs = {};
    stages::MakeCompute make_compute = &stages::make_oracle_compute;
    bool servers_keep_state = false;  // like `swarm serve --cache`
    std::uint64_t slice_bytes_max = swarm::protocol::kSliceBytesMax;
    std::set<std::uint64_t> liars = {};  // servers that lie, by number
    Liar::Bent bent = {};                // a bent that all liars have
    /// The checkpoint of version 0 with which the run begins; nullopt: weights from the seed.
    std::optional<swarm::run::RunState> begin = std::nullopt;
    std::vector<swarm::run::HeldOutText> held_out = {};  // the texts of config.eval
};

/// A configuration of the oracle model with a tiny state: `stages` layers, ids as tokens.
swarm::run::RunConfig oracle_config(
    std::uint32_t stages, std::uint32_t microbatches, std::uint64_t steps
);

/// Results that one process gets for the same run.
struct Reference {
    std::vector<double> losses;
    swarm::Digest weights_sha256;
};

Reference train_single(const swarm::run::RunConfig& config);
/// Returns only the losses of the first steps.
std::vector<double> train_single(const swarm::run::RunConfig& config, std::uint64_t steps);

class RunWorld {
 public:
    explicit RunWorld(RunWorldOptions options);

    static PeerId coordinator() { return peer(1'000'000); }

    [[nodiscard]] World& world() { return world_; }

    // The observer is called besides the checker, before the event or message takes effect.
    void observe_events(std::function<void(PeerId, const node::Event&)> observer) {
        event_observer_ = std::move(observer);
    }

    void observe_sends(std::function<void(PeerId, const node::Send&)> observer) {
        send_observer_ = std::move(observer);
    }

    /// The observer is called before the world's own record of the report.
    void observe_reports(std::function<void(PeerId, const node::Report&)> observer) {
        report_observer_ = std::move(observer);
    }

    /// Gives the next start of the coordinator's process the state of `train --resume`.
    void resume_from(swarm::run::RunState state) { resume_ = std::move(state); }

    /// Gives the next start of the coordinator's process the cut of the model into stages.
    void cut_as(std::vector<std::uint32_t> layers_per_stage);

    /// Adds one more server that joins now. Returns its id.
    PeerId add_server();
    /// Adds the server with this number, on a machine of its own kind.
    PeerId add_server(std::uint64_t number, const PeerOptions& machine);

    /// Adds a liar without an honest role, which dials the coordinator and servers 1 to `servers`.
    void add_stranger(std::uint64_t servers);

    /// From now on no liar lies.
    void hush_liars() { liars_are_hushed_ = true; }

    [[nodiscard]] const LieCounts& lies() const { return *lies_; }

    [[nodiscard]] bool is_liar(PeerId peer) const { return options_.liars.contains(peer.words[0]); }

    [[nodiscard]] bool finished() const { return weights_sha256_.has_value() || failure_; }

    /// False when the run has not finished after `limit` of virtual time.
    bool run(swarm::Duration limit);

    [[nodiscard]] const std::vector<node::StepCommitted>& steps() const { return steps_; }

    /// Losses that the evaluations of the run have found, in order.
    [[nodiscard]] const std::vector<swarm::run::HeldOutLosses>& held_out() const {
        return held_out_;
    }

    /// Steps after which eval.patience has ended the run.
    [[nodiscard]] std::optional<std::uint64_t> ended_after() const { return ended_after_; }

    /// Steps that were skipped, with the reason.
    [[nodiscard]] const std::vector<node::StepSkipped>& skipped() const { return skipped_; }

    /// Microbatches of the committed steps that went through a peer as a member of a stage.
    [[nodiscard]] const std::map<std::pair<swarm::StageIndex, PeerId>, std::uint64_t>& shares(
    ) const {
        return shares_;
    }

    [[nodiscard]] const std::vector<std::string>& violations() const {
        return checker_.violations();
    }

    /// Returns an empty text when the run equals the reference and nothing was violated; else the
    /// difference.
    [[nodiscard]] std::string verdict(const Reference& reference) const;

    [[nodiscard]] std::uint32_t replayed() const;

    [[nodiscard]] std::uint32_t fenced() const { return fenced_; }

    [[nodiscard]] std::uint32_t fenced_honest() const { return fenced_honest_; }

    /// From now on a longer time without a commit is a violation.
    void expect_commits_within(swarm::Duration most) { checker_.expect_commits_within(most); }

    /// The longest time between two commits, or between the start and the first.
    [[nodiscard]] swarm::Duration longest_step() const { return checker_.longest_step(); }

    /// The time from the last commit to now, or to the end of the run.
    [[nodiscard]] swarm::Duration since_last_commit() const { return world_.now() - committed_at_; }

    [[nodiscard]] std::uint32_t moves() const { return moves_; }

    [[nodiscard]] const std::vector<std::string>& log() const { return log_; }

    [[nodiscard]] const std::optional<node::RunFailed>& failure() const { return failure_; }

    [[nodiscard]] const swarm::coordinator::Coordinator* coordinator_role() const;
    [[nodiscard]] const stages::StageServer* server(PeerId id) const;

 private:
    void add_coordinator();
    void hear(PeerId from, const node::Report& report);
    void note(PeerId about, const std::string& text);
    [[nodiscard]] bool may_lie(PeerId liar) const;
    [[nodiscard]] std::unique_ptr<node::Role> as_liar(
        PeerId id, std::unique_ptr<node::Role> honest, std::vector<PeerId> victims
    );
    [[nodiscard]] std::optional<stages::CachedState> kept(PeerId id, const std::string& name) const;

    RunWorldOptions options_;
    World world_;
    Checker checker_;
    std::shared_ptr<const stages::SafetensorsCheckpoint> checkpoints_;
    std::optional<swarm::run::RunState> resume_;
    std::function<void(PeerId, const node::Event&)> event_observer_;
    std::function<void(PeerId, const node::Send&)> send_observer_;
    std::function<void(PeerId, const node::Report&)> report_observer_;
    std::shared_ptr<LieCounts> lies_ = std::make_shared<LieCounts>();
    std::uint32_t servers_ = 0;
    std::uint32_t strangers_ = 0;
    swarm::TimePoint committed_at_{};
    bool liars_are_hushed_ = false;
    std::vector<node::StepCommitted> steps_;
    std::vector<node::StepSkipped> skipped_;
    std::vector<swarm::run::HeldOutLosses> held_out_;
    std::optional<std::uint64_t> ended_after_;  // kept by the folder of the coordinator
    std::map<std::pair<swarm::StageIndex, PeerId>, std::uint64_t> shares_;
    std::optional<swarm::Digest> weights_sha256_;
    std::optional<node::RunFailed> failure_;
    std::vector<std::string> log_;
    std::uint32_t fenced_ = 0;
    std::uint32_t fenced_honest_ = 0;
    std::uint32_t moves_ = 0;
};

}  // namespace sim
