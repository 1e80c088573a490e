// A run as people watch it: steps, loss, speed, the peers of each stage, and what happened last,
// gathered from the run's reports. It gives the JSON of /api/state, which README.md describes key
// by key, and the figures of /metrics.
// Invariant: a peer is listed at one stage at most, and only while it is admitted or observes.
// Bounds: kEventsMax events; kLossesMax points of the loss, each a mean of as many steps as needed;
// kCodecsMax choices of codecs.
// Threading: one thread. Times are of the caller's clock, on one scale.
#pragma once

#include "swarm/base/units.hpp"
#include "swarm/cli/common/report_lines.hpp"
#include "swarm/run/config.hpp"
#include "swarm/run/training/loss_watch.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace swarm::cli {

class RunState {
 public:
    static constexpr std::size_t kEventsMax = 50;
    static constexpr std::size_t kLossesMax = 512;
    static constexpr std::size_t kCodecsMax = 8;

    explicit RunState(run::RunConfig config) : config_(std::move(config)), watch_(config_.loop) {}

    void add(const TrainReport& report, TimePoint now);

    /// Adds an event that no report tells. `peer`: nullopt when it is about none.
    void note(const char* what, std::optional<PeerId> peer, std::string reason, TimePoint now);
    /// The process of a peer has ended; the coordinator fences the peer later.
    void note_end(PeerId peer, std::string reason, TimePoint now);

    [[nodiscard]] std::string to_json(TimePoint now) const;

    /// Figures in the text format of Prometheus, version 0.0.4.
    [[nodiscard]] std::string to_prometheus() const;

    [[nodiscard]] bool is_over() const { return over_; }

 private:
    struct Peer {
        StageIndex stage;
        bool is_suspect = false;
        bool is_observer = false;
        std::uint64_t microbatches = 0;  // in committed steps
        std::uint32_t last = 0;          // in the last step
        double units_per_s = 0;
    };

    struct Happened {
        TimePoint at;
        std::string what;
        std::optional<PeerId> peer;
        std::optional<StageIndex> stage;
        std::string reason;
    };

    /// Means of the losses of consecutive steps.
    struct LossPoint {
        std::uint64_t step = 0;  // the last one of them
        double sum = 0;
        std::uint64_t steps = 0;
    };

    /// Bytes between peers in steps with these codecs.
    struct CodecBytes {
        std::string codecs;
        std::uint64_t bytes = 0;
    };

    void add_one(const Listening& listening, TimePoint now);

    void add_one(const PastLoss& past, TimePoint) {
        add_loss(past.step + 1, past.loss);
        watch_.recall(past.step, past.loss);
    }

    void add_one(const StagesCut& cut, TimePoint now);

    void add_one(const HeldOutFound&, TimePoint) {}

    void add_one(const PatienceOver& over, TimePoint now) {
        push({now, "patience over", {}, {}, over.reason});
    }

    void add_one(const node::StepCommitted& step, TimePoint now);
    void add_one(const node::StepSkipped& skip, TimePoint now);
    void add_one(const node::WorkCounted& work, TimePoint now);
    void add_one(const node::ShareLost& lost, TimePoint now);
    void add_one(const node::PeerChanged& changed, TimePoint now);
    void add_one(const node::RunFinished& finished, TimePoint now);
    void add_one(const node::RunFailed& failed, TimePoint now);

    void add_loss(std::uint64_t step, double loss);
    void add_bytes(const std::string& codecs, std::uint64_t bytes);
    void push(Happened happened);
    [[nodiscard]] double tokens_per_s() const;
    [[nodiscard]] std::vector<std::size_t> peers_per_stage() const;

    run::RunConfig config_;
    std::string join_;
    bool join_here_only_ = false;
    std::uint64_t steps_done_ = 0;
    std::optional<double> loss_;
    Duration last_took_{};
    std::uint64_t replayed_ = 0;
    std::uint64_t fenced_ = 0;
    std::uint64_t wire_bytes_ = 0;
    std::deque<CodecBytes> codecs_;  // those of the last step come last
    std::map<PeerId, Peer> peers_;
    std::deque<Happened> events_;
    std::vector<LossPoint> losses_;
    run::LossWatch watch_;
    std::uint64_t steps_per_point_ = 1;
    bool over_ = false;
    std::string end_;  // how the run ended; empty: it goes on
};

}  // namespace swarm::cli
