// One step, microbatch by microbatch: what it takes longer than flows, and where its microbatches
// wait. Senders pick with the production router (its policy, its rate meters); stages serve as
// stages/wave does, two legs on the device, backward first; the window is the coordinator's; access
// lines are the exact mode's. Left out: the weight of frames but tensors, and all faults.
// Why no formula: with replicas a step is a closed network of queues, routed by what many senders
// have seen each, and it begins and ends empty; mean-value analysis (Reiser, Lavenberg 1980) knows
// random routing in the long run only.
// Invariant: a function of (fleet, scenario, seed, calls). The routers learn from step to step.
// Units: seconds, microbatches. Threading: none. Cost: 0.4 us per leg (2 x stages x microbatches of
// them), 0.7 with access lines; memory a rate meter per pair of neighbours.
#pragma once

#include "router/hop_router.hpp"
#include "sim/fluid/stage_flow.hpp"
#include "sim/pipe.hpp"
#include "sim/slab.hpp"
#include "sim/timed_queue.hpp"

#include <deque>
#include <memory>
#include <vector>

namespace sim {

using swarm::StageIndex;

class StepModel {
 public:
    /// Both outlive the model.
    StepModel(const Scenario& scenario, const std::vector<FleetPeer>& fleet, std::uint64_t seed);

    /// Who works where from now on; who stands still is left out.
    void set_stages(const std::vector<StageFlow>& stages);

    /// Runs one step, every stage having somebody, and returns how long it took.
    double run(double window);

    /// Another step fits into the clock, whose end is 292 years off: 2,048 microbatches of the
    /// slowest forwards take 20.
    [[nodiscard]] bool has_time() const { return now_ < TimePoint(Duration::max() / 4); }

    // Of the last step
    /// Offers under way at the machine, as a mean over the step: what its senders report.
    [[nodiscard]] double queued(std::uint32_t number) const { return workers_[number].queued_s; }

    [[nodiscard]] double busy_s(std::uint32_t number) const { return workers_[number].busy_s; }

 private:
    static constexpr std::uint32_t kCoordinator = 0;

    struct Leg {
        std::uint32_t microbatch = 0;
        bool is_backward = false;
    };

    /// A machine; the first stands for the coordinator, who sends to the first stage.
    struct Worker {
        std::uint32_t stage = 0;
        double forward_s = 0;
        std::unique_ptr<router::HopRouter> router;
        std::deque<Leg> forwards;
        std::deque<Leg> backwards;
        std::deque<Leg> placing;
        std::deque<Leg> device;  // the front one runs
        Pipe up{0};
        Pipe down{0};
        double queued_s = 0;
        double busy_s = 0;
    };

    struct Event {
        enum class Kind : std::uint8_t {
            UpDone,
            AtDown,
            DownDone,
            Arrived,
            Computed,
            Accepted,
            Passed,
            LeftFlight
        };

        Kind kind{};
        std::uint32_t worker = 0;  // to whom it happens
        Leg leg{};
        std::uint32_t stage = 0;  // Accepted, Passed: of the receiver; AtDown: the sender
    };

    struct Frame {
        std::uint32_t to = 0;
        Leg leg{};
    };

    void seat(std::uint32_t stage, const std::vector<SlotId>& members);
    void show(std::uint32_t stage, std::uint32_t sender);
    void forget_step();
    void handle(const Event& event);

    void launch();

    // Legs
    void offer(std::uint32_t from, std::uint32_t stage, const Leg& leg, SlotId to);
    void send(std::uint32_t from, std::uint32_t to, const Leg& leg);
    [[nodiscard]] Slab<Frame>::Index frame_of(std::uint32_t to, const Leg& leg);
    void up_done(std::uint32_t number);
    void at_down(const Event& event);
    void down_done(std::uint32_t number);
    void arm(Pipe& line, Event::Kind done, std::uint32_t number);
    void arrived(std::uint32_t number, const Leg& leg);
    void computed(std::uint32_t number);
    void accepted(const Event& event);
    void passed(const Event& event);
    void pump(std::uint32_t number);
    void start_job(std::uint32_t number);
    [[nodiscard]] TimePoint committed_at() const;

    [[nodiscard]] bool is_tail(std::uint32_t stage) const { return stage + 1 == stages_.size(); }

    [[nodiscard]] Duration latency(std::uint32_t from, std::uint32_t to) const;
    [[nodiscard]] router::LegId id_of(const Leg& leg) const;

    [[nodiscard]] std::size_t at(std::uint32_t microbatch, std::uint32_t stage) const {
        return std::size_t{microbatch} * stages_.size() + stage;
    }

    [[nodiscard]] std::uint32_t& hop(std::uint32_t microbatch, std::uint32_t stage) {
        return path_[at(microbatch, stage)];
    }

    const Scenario& scenario_;
    const std::vector<FleetPeer>& fleet_;
    std::uint64_t seed_;
    router::Request request_;
    std::vector<Worker> workers_;              // by number
    std::vector<std::vector<SlotId>> stages_;  // a slot's value is the machine's number
    TimedQueue<Event> events_;
    Slab<Frame> frames_;  // in access lines
    TimePoint now_{};

    // Of the step
    std::uint64_t step_ = 0;
    std::uint32_t window_ = 0;
    std::uint32_t launched_ = 0;
    std::uint32_t in_flight_ = 0;
    std::vector<std::uint32_t> path_;    // numbers, by microbatch and stage
    std::vector<TimePoint> offered_at_;  // as path_
    std::vector<TimePoint> done_at_;     // by stage: its last gradient
    TimePoint last_path_{};              // at the coordinator
};

}  // namespace sim
