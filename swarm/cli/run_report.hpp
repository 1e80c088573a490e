// What happened in a run, gathered from its reports: the content of --json.
// recovery_s is the time from each fault to the next commit, recovery_alone_s that of faults with
// no other in between. What a run does not know is null.
// A step that is repeated after a rollback replaces its former self.
// Threading: one thread. Times are of the caller's clock, on one scale.
#pragma once

#include "swarm/cli/report_lines.hpp"
#include "swarm/cli/run_events.hpp"
#include "swarm/run/config.hpp"

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

/// Losses and weights must be the same, bit for bit.
Verification compare_runs(
    const Losses& losses,
    const std::optional<Digest>& weights,
    const Losses& single_losses,
    const std::optional<Digest>& single_weights
);

class RunReport {
 public:
    explicit RunReport(run::RunConfig config) : config_(std::move(config)) {}

    void add(const TrainReport& report, TimePoint now);

    /// How the starter of the processes holds a peer back; 0: not at all.
    struct Handicap {
        std::uint32_t service_ms = 0;
        std::uint64_t line_bytes_per_s = 0;
    };

    /// Lists the peer even when it never does a thing. Peers are numbered in the order of these.
    void add_peer(PeerId peer, Handicap handicap);

    /// One way between any two processes.
    void set_line_delay(Duration delay) { line_delay_ = delay; }

    /// What the starter of the processes does to them goes in here.
    [[nodiscard]] RunEvents& events() { return events_; }

    void set_verification(Verification verification) { verification_ = std::move(verification); }

    [[nodiscard]] const Losses& losses() const { return losses_; }

    [[nodiscard]] const std::optional<Digest>& weights() const { return weights_; }

    [[nodiscard]] const RunEvents& events() const { return events_; }

    [[nodiscard]] std::uint64_t microbatches_of(PeerId peer) const;
    /// Every microbatch of every step was counted once in every stage.
    [[nodiscard]] bool counted_all() const;
    [[nodiscard]] double tokens_per_s() const;
    /// Both directions over all hops, replays included, each frame as node::frame_bytes() estimates
    /// it; NaN when no step knows.
    [[nodiscard]] double wire_bytes_per_microbatch() const;

    [[nodiscard]] std::string to_json() const;
    /// One line: steps, first and last loss, speed, hash of the weights.
    [[nodiscard]] std::string summary() const;
    /// One line per peer: what it did, against its speed.
    [[nodiscard]] std::string peer_table() const;
    /// One line: what went wrong, and what it cost. Empty when nothing did.
    [[nodiscard]] std::string trouble() const;

 private:
    struct PeerFacts {
        std::optional<StageIndex> stage;  // the latest
        std::optional<StageIndex> first_stage;
        std::uint64_t admitted = 0;  // first of all, second, ...; 0: never
        std::map<StageIndex, std::uint64_t> microbatches;
        double units_per_s = 0;  // as last measured in that stage; 0: never
        Handicap handicap;
        std::uint64_t number = 0;  // 0: started by somebody else
    };

    /// The peer's part of its stage's microbatches; NaN when the stage had none.
    [[nodiscard]] double share_of(const PeerFacts& peer) const;
    /// The peer's part of the measured speeds of its stage; NaN when it was not measured.
    [[nodiscard]] double speed_share_of(const PeerFacts& peer) const;

    void add_one(const Listening&, TimePoint) {}

    void add_one(const PastLoss& past, TimePoint) { losses_[past.step] = past.loss; }

    void add_one(const StagesCut& cut, TimePoint now);
    void add_one(const node::StepCommitted& step, TimePoint now);
    void add_one(const node::StepSkipped& skip, TimePoint now);
    void add_one(const node::ShareCounted& share, TimePoint now);
    void add_one(const node::ShareLost& lost, TimePoint now);
    void add_one(const node::PeerChanged& changed, TimePoint now);
    void add_one(const node::RunFinished& finished, TimePoint now);

    void add_one(const node::RunFailed&, TimePoint) {}

    run::RunConfig config_;
    Losses losses_;
    std::map<std::uint64_t, node::StepCommitted> steps_;
    std::map<PeerId, PeerFacts> peers_;
    std::optional<Digest> weights_;
    std::optional<Verification> verification_;
    RunEvents events_;
    Duration line_delay_{};
    std::optional<TimePoint> began_;  // the first step
    std::uint64_t peers_started_ = 0;
    std::uint64_t peers_admitted_ = 0;
};

}  // namespace swarm::cli
