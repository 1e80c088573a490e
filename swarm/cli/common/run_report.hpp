// The events and figures of a run, gathered from its reports: the content of --json, which
// README.md describes key by key. A figure that a run does not know is null.
// A step that is repeated after a rollback replaces its first record.
// Threading: one thread. Times are of the caller's clock, on one scale.
#pragma once

#include "swarm/cli/common/report_lines.hpp"
#include "swarm/cli/common/run_events.hpp"
#include "swarm/run/config.hpp"
#include "swarm/run/training/loss_watch.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

namespace swarm::cli {

struct Verification {
    bool equal = false;
    std::optional<Digest> single_sha256;
    std::optional<std::string> first_difference;
};

using Losses = std::map<std::uint64_t, double>;  // by step

/// The runs are equal when losses and weights are the same, bit for bit.
Verification compare_runs(
    const Losses& losses,
    const std::optional<Digest>& weights,
    const Losses& single_losses,
    const std::optional<Digest>& single_weights
);

class RunReport {
 public:
    explicit RunReport(run::RunConfig config) : config_(std::move(config)), watch_(config_.loop) {}

    void add(const TrainReport& report, TimePoint now);

    /// The ways in which the starter of the processes holds a peer back; 0: not at all.
    struct Handicap {
        std::uint32_t service_ms = 0;
        std::uint64_t line_bytes_per_s = 0;
    };

    /// Lists the peer, even when it never works. Peers are numbered in the order of these calls.
    void add_peer(PeerId peer, Handicap handicap);

    /// Sets the delay from one process to another, one way.
    void set_line_delay(Duration delay) { line_delay_ = delay; }

    /// The starter of the processes adds here what it does to them.
    [[nodiscard]] RunEvents& events() { return events_; }

    void set_verification(Verification verification) { verification_ = std::move(verification); }

    [[nodiscard]] const Losses& losses() const { return losses_; }

    [[nodiscard]] const std::optional<Digest>& weights() const { return weights_; }

    [[nodiscard]] const RunEvents& events() const { return events_; }

    [[nodiscard]] std::uint64_t microbatches_of(PeerId peer) const;
    /// True when every stage has counted every microbatch of every step once.
    [[nodiscard]] bool counted_all() const;
    [[nodiscard]] double tokens_per_s() const;
    /// Bytes in both directions over all hops, replays included, with each frame as
    /// node::frame_bytes() estimates it; NaN when no step knows them.
    [[nodiscard]] double wire_bytes_per_microbatch() const;

    [[nodiscard]] std::string to_json() const;
    /// Returns one line: steps, first and last loss, speed, hash of the weights.
    [[nodiscard]] std::string summary() const;
    /// Returns one line per peer: its work, beside its speed.
    [[nodiscard]] std::string peer_table() const;
    /// Returns one line: what went wrong, and its cost. Empty when nothing did.
    [[nodiscard]] std::string trouble() const;

 private:
    struct PeerFacts {
        std::optional<StageIndex> stage;  // the newest one
        std::optional<StageIndex> first_stage;
        std::uint64_t admitted = 0;  // order of the first admissions, from 1; 0: never admitted
        std::map<StageIndex, std::uint64_t> microbatches;
        double units_per_s = 0;  // newest measurement in that stage; 0: none
        Handicap handicap;
        std::uint64_t number = 0;  // order of add_peer(), from 1; 0: started by somebody else
    };

    /// The peer's share of the microbatches of its stage; NaN when the stage had none.
    [[nodiscard]] double share_of(const PeerFacts& peer) const;
    /// Forwards of its stage that the peer could make in a second, as its senders measured it; NaN
    /// when it was not measured.
    [[nodiscard]] double forwards_per_s_of(const PeerFacts& peer) const;
    /// The peer's share of the measured speeds of its stage; NaN when it was not measured.
    [[nodiscard]] double speed_share_of(const PeerFacts& peer) const;

    void add_one(const Listening& listening, TimePoint) { join_ = listening.join; }

    void add_one(const PastLoss& past, TimePoint) {
        losses_[past.step] = past.loss;
        watch_.recall(past.step, past.loss);
    }

    void add_one(const StagesCut& cut, TimePoint now);

    void add_one(const HeldOutFound& found, TimePoint) { held_out_[found.step] = found; }

    void add_one(const PatienceOver&, TimePoint) {}  // the losses show it

    void add_one(const node::StepCommitted& step, TimePoint now);
    void add_one(const node::StepSkipped& skip, TimePoint now);
    void add_one(const node::WorkCounted& share, TimePoint now);
    void add_one(const node::ShareLost& lost, TimePoint now);
    void add_one(const node::PeerChanged& changed, TimePoint now);
    void add_one(const node::RunFinished& finished, TimePoint now);

    void add_one(const node::RunFailed&, TimePoint) {}

    run::RunConfig config_;
    std::string join_;  // empty: no peer can join
    Losses losses_;
    std::map<std::uint64_t, node::StepCommitted> steps_;
    std::map<std::uint64_t, HeldOutFound> held_out_;  // evaluations by step
    std::map<PeerId, PeerFacts> peers_;
    std::optional<Digest> weights_;
    std::optional<Verification> verification_;
    RunEvents events_;
    run::LossWatch watch_;
    Duration line_delay_{};
    std::optional<TimePoint> began_;  // begin of the first step
    std::uint64_t peers_started_ = 0;
    std::uint64_t peers_admitted_ = 0;
};

}  // namespace swarm::cli
