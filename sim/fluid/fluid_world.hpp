// The state of a fluid run and its events: machines come, go, slow down, freeze and download; the
// rebalancer's period ends; a step is committed. Between two events everything flows evenly, at a
// rate that counts bubble, commit, and the extra time of a sampled step (step_model.hpp). As in the
// protocol a mover leaves at a commit, and a newcomer's download begins at one.
// Invariants: the roster lists the machines with a slot, and a stage's flow holds exactly its
// members; an observer waits for a snapshot or downloads. A frozen peer that is silent for longer
// than the failure detector allows loses its slot, unless it is the last of its stage. Samples are
// rationed, so that a run's cost follows its events: the first half of kLegsMax goes to one sample
// per step, the rest to the moments at which stages change.
// Units: seconds, microbatches, bytes. Threading: none.
// Cost of an event: O(peers), plus its sample's cost.
#pragma once

#include "router/rebalancer.hpp"
#include "sim/fluid/best_placement.hpp"
#include "sim/fluid/stage_flow.hpp"
#include "sim/fluid/step_model.hpp"
#include "sim/report/sim_report.hpp"
#include "sim/timed_queue.hpp"
#include "swarm/base/trace_hash.hpp"
#include "swarm/run/roster.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace sim {

using swarm::StageIndex;

/// Sums since the start.
struct FluidTotals {
    double microbatches = 0;
    double best_microbatches = 0;  // with the same peers in the best places
    double busy_s = 0;
    double up_s = 0;  // summed over machines
    double bytes = 0;
    std::vector<double> busy_s_per_stage;
    std::vector<double> up_s_per_stage;  // machines with a slot only
};

class FluidWorld {
 public:
    /// Both arguments outlive the world.
    FluidWorld(const Scenario& scenario, const Schedule& schedule, std::uint64_t seed);

    void start();

    [[nodiscard]] TimePoint now() const { return now_; }

    /// The time of the next end of a download, end of a silence that is too long, or commit that a
    /// machine waits for.
    [[nodiscard]] TimePoint next_own_event();

    /// Lets everything flow until then. REQUIRES: no event lies between.
    void flow_until(TimePoint until);
    void carry_out(const Happening& happening);
    void carry_out_own_event();
    void rebalance();

    /// Microbatches per second, now: over whole steps, and between two ends of steps.
    [[nodiscard]] double flow();

    [[nodiscard]] double flow_within_step() const { return flow_within_step_; }

    /// Microbatches that are offered to the stage and not yet passed on, now.
    [[nodiscard]] double queued(std::uint32_t stage);

    [[nodiscard]] const FluidTotals& totals() const { return totals_; }

    [[nodiscard]] const swarm::run::Roster& roster() const { return roster_; }

    [[nodiscard]] std::uint64_t moves() const { return moves_; }

    [[nodiscard]] std::uint64_t events() const { return events_; }

    [[nodiscard]] std::uint64_t trace_hash() const { return trace_.value(); }

    [[nodiscard]] const std::vector<Note>& notes() const { return notes_; }

 private:
    struct Machine {
        bool up = false;
        bool frozen = false;
        double slowed_to = 1;
        StageIndex stage;
        std::optional<SlotId> slot;
        bool is_member = false;  // otherwise an observer or draining, while it has a slot
        std::optional<StageIndex> moves_to;  // while it drains
        TimePoint leased_until{};            // since its last move
        /// Grows with each slot: plans made for an earlier slot do not hold.
        std::uint64_t spell = 0;
        std::vector<std::uint32_t> donors;  // their numbers, while it downloads
        std::uint32_t feeding = 0;          // downloads from this machine
        TimePoint frozen_at{};
        std::optional<PeerKind> counted_as;  // the kind under which best_ counts the machine
        double queued = 0;                   // offers under way at the machine
        double queued_s = 0;                 // per sender: integral since the period began, ...
        double present_s = 0;                // ... or since the machine became a member
    };

    struct Pending {
        enum class Kind : std::uint8_t { Downloaded, Silent, RoundAfterLoss };

        Kind kind{};
        std::uint32_t number = 0;
        std::uint64_t spell = 0;
    };

    /// A machine that waits for the next commit: then a snapshot is frozen for it, or its work
    /// begins, or it leaves for another stage.
    struct Awaiting {
        std::uint32_t number = 0;
        std::uint64_t spell = 0;
        std::optional<StageIndex> moves_to;
        bool has_state = false;
    };

    static constexpr double kLegsMax = 1 << 20;

    [[nodiscard]] Machine& machine(std::uint32_t number) { return machines_[number - 1]; }

    [[nodiscard]] const FleetPeer& peer_of(std::uint32_t number) const {
        return schedule_.fleet[number - 1];
    }

    [[nodiscard]] static double speed_of(const Machine& one) {
        return one.frozen ? 0 : one.slowed_to;
    }

    // Events that befall machines
    void join(std::uint32_t number);
    void depart(std::uint32_t number, NoteKind how);
    void freeze(std::uint32_t number);
    void thaw(std::uint32_t number);
    void change_speed(std::uint32_t number, double slowed_to);
    void silent_for_too_long(std::uint32_t number);

    // Slots
    void take_slot(std::uint32_t number, StageIndex stage);
    void observe(std::uint32_t number, StageIndex stage);
    void begin_download(std::uint32_t number);
    void begin_move(std::uint32_t number, StageIndex to);
    void commit();
    void release(const Awaiting& mover);
    void downloaded(std::uint32_t number);
    void admit(std::uint32_t number);
    void admit_waiting(StageIndex stage);
    void take_part(std::uint32_t number);
    void give_up_slot(std::uint32_t number);
    void stop_work(std::uint32_t number);
    [[nodiscard]] bool is_last_of_its_stage(std::uint32_t number) const;
    [[nodiscard]] Duration download_from_donors(std::uint32_t number);
    [[nodiscard]] double given_by(std::uint32_t donor) const;
    [[nodiscard]] double tensors_share(std::uint32_t donor) const;
    [[nodiscard]] double tensors_share_of_links(std::uint32_t donor) const;
    void line_changed(std::uint32_t donor);
    [[nodiscard]] PeerFlow flow_as_member(std::uint32_t number) const;
    [[nodiscard]] double pace_of_donor() const;
    [[nodiscard]] std::vector<std::uint32_t> choose_donors(StageIndex stage) const;
    void release_donors(Machine& downloader);

    // Flow of microbatches
    void speed_changed(std::uint32_t number);
    void count_for_best(std::uint32_t number);
    [[nodiscard]] double in_flight() const;
    void lose(std::uint32_t number);
    void lose_work_of(std::uint32_t number);
    [[nodiscard]] double least_s_after_loss(StageIndex stage) const;
    [[nodiscard]] double commit_s() const;
    void refresh();
    void reckon_sync();
    void settle();
    void sample();
    [[nodiscard]] TimePoint next_commit() const;
    [[nodiscard]] bool can_sample() const;
    [[nodiscard]] bool samples_each_step() const;
    [[nodiscard]] double pairs() const;
    [[nodiscard]] double price_of_step() const;
    [[nodiscard]] double flow_with_steps(double narrowest) const;
    [[nodiscard]] StageIndex stage_for_newcomer();
    [[nodiscard]] router::StageLoads mean_loads();
    void add_arriving(router::StageLoads& loads) const;
    [[nodiscard]] double mean_join_s() const;
    /// Bytes of a download, as byte planes.
    [[nodiscard]] double download_bytes() const;
    [[nodiscard]] double senders_to(std::size_t stage) const;
    void begin_period();
    void note(NoteKind kind, std::string text);

    const Scenario& scenario_;
    const Schedule& schedule_;
    std::unique_ptr<router::Policy> policy_;
    std::unique_ptr<router::Rebalancer> rebalancer_;
    double latency_s_ = 0;  // one hop, a mean over the fleet
    double join_s_ = 0;     // download and warm-up, a mean over the fleet
    TimePoint now_{};
    swarm::run::Roster roster_;
    std::vector<Machine> machines_;
    std::vector<StageFlow> stages_;
    std::vector<std::vector<SlotId>> observers_;  // per stage, in slot order
    std::uint32_t up_ = 0;
    BestPlacement best_;
    TimedQueue<Pending> pending_;
    std::vector<Awaiting> awaiting_;
    TimePoint commit_at_ = swarm::kNever;
    bool round_follows_ = false;  // a machine was lost: a rebalancing round before the period ends

    double window_ = 0;            // microbatches in flight
    double unhindered_s_ = 0;      // a microbatch's way down and up, without waiting
    double narrow_compute_s_ = 0;  // device time per microbatch in the narrowest stage
    double narrowest_ = 0;
    double sync_s_ = 0;      // in which the replicas of a stage become one again, per step
    double sync_bytes_ = 0;  // sent by all of them for that, per step
    double flow_within_step_ = 0;
    double flow_ = 0;
    double best_flow_ = 0;
    double redo_ = 0;  // microbatches whose sums were lost with a machine

    std::vector<double> queued_;  // per stage

    StepModel step_model_;
    double slowness_ = 1;  // the last sampled step against the flow through the same stages
    double mean_slowness_ = 1;
    double legs_left_ = kLegsMax;  // microbatches' legs that may still be sampled

    bool sampled_ = false;
    bool has_changed_ = true;  // the stages changed since the flow was computed
    bool is_settled_ = false;
    bool is_fresh_ = false;  // the last sample is of the present stages

    FluidTotals totals_;
    std::uint64_t moves_ = 0;
    std::uint64_t events_ = 0;
    swarm::TraceHash trace_;
    std::vector<Note> notes_;
};

}  // namespace sim
