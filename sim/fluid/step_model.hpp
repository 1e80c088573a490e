// A model of one step, microbatch by microbatch: it tells how much longer a step takes than flows
// do, and where its microbatches wait. Senders pick with the production router (its policy, its
// rate meters); stages serve like stages/server/wave, two legs on the device, backward first; the
// window is the coordinator's; access lines are the exact mode's. At its end members swap sums and
// values: all that one sends is one frame, and so is what it gets. Each step bears a part of the
// exchange of mode sparse. Left out: the weight of other frames, and all faults.
// Reason for a model instead of a formula: with replicas a step is a closed network of queues,
// routed by what many senders have seen each, and it begins and ends empty; mean-value analysis
// (Reiser, Lavenberg 1980) knows random routing in the long run only.
// Invariant: a function of (fleet, scenario, seed, calls). The routers learn from step to step.
// Units: seconds, microbatches. Threading: none. Cost: 0.4 us per leg (2 x stages x microbatches of
// them), 0.7 with access lines; memory a rate meter per pair of neighbours.
#pragma once

#include "router/hop_router.hpp"
#include "sim/fluid/stage_flow.hpp"
#include "sim/pipe.hpp"
#include "sim/slab.hpp"
#include "sim/timed_queue.hpp"
#include "swarm/base/rng.hpp"

#include <deque>
#include <memory>
#include <optional>
#include <vector>

namespace sim {

using swarm::StageIndex;

class StepModel {
 public:
    /// Both arguments outlive the model.
    StepModel(const Scenario& scenario, const std::vector<FleetPeer>& fleet, std::uint64_t seed);

    /// Sets the members of each stage from now on; a machine that stands still is left out.
    void set_stages(const std::vector<StageFlow>& stages);

    /// Runs one step and returns how long it took. REQUIRES: every stage has a member.
    double run(double window);

    /// True while another step fits into the clock, whose end is 292 years off: 2,048 microbatches
    /// of the slowest forwards take 20.
    [[nodiscard]] bool has_time() const { return now_ < TimePoint(Duration::max() / 4); }

    // Figures of the last step
    /// Offers under way at the machine, a mean over the step: the number that its senders report.
    [[nodiscard]] double queued(std::uint32_t number) const { return workers_[number].queued_s; }

    [[nodiscard]] double busy_s(std::uint32_t number) const { return workers_[number].busy_s; }

 private:
    static constexpr std::uint32_t kCoordinator = 0;

    struct Leg {
        std::uint32_t microbatch = 0;
        bool is_backward = false;
    };

    /// A machine. The first one stands for the coordinator, which sends to the first stage.
    struct Worker {
        std::uint32_t stage = 0;
        double forward_s = 0;
        std::unique_ptr<router::HopRouter> router;
        std::deque<Leg> forwards;
        std::deque<Leg> backwards;
        std::deque<Leg> placing;
        std::deque<Leg> device;  // the front leg runs
        Pipe up{0};
        Pipe down{0};
        std::optional<std::uint32_t> parts;  // the frame of members' parts that its line brings
        std::uint32_t parts_here = 0;        // members whose sums, or values, it has
        std::uint32_t due = 0;               // microbatches of this step that it has not finished
        double queued_s = 0;
        double busy_s = 0;
    };

    struct Event {
        enum class Kind : std::uint8_t {
            UpDone,
            FrameBegins,
            FrameEnds,
            DownDone,
            Reduce,
            Arrived,
            Computed,
            Accepted,
            Passed,
            LeftFlight
        };

        Kind kind{};
        std::uint32_t worker = 0;  // the machine to which the event happens
        Leg leg{};
        std::uint32_t stage = 0;  // Accepted, Passed: the receiver's stage; Reduce: the stage
        std::uint32_t frame = 0;  // FrameBegins, FrameEnds
    };

    enum class Content : std::uint8_t { Leg, Sums, Values };

    /// It enters the receiver's line while it leaves the sender's, as in sim/world_frames.cpp.
    struct Frame {
        std::uint32_t from = 0;
        std::uint32_t to = 0;  // the sender itself for what it sends to all members of its stage
        std::uint64_t bytes = 0;
        Content content{};
        Leg leg{};
        std::uint32_t links = 1;  // that it stands for; parts that came: their number
        bool end_is_here = false;
        bool is_carried = false;
    };

    /// How far the members of a stage are with becoming one again.
    struct Sync {
        bool is_asked = false;   // REDUCE is here
        std::uint32_t sums = 0;  // members that have sent all, and members that have got all
        std::uint32_t values = 0;
        TimePoint done_at{};  // when the last REDUCED is at the coordinator
    };

    void seat(std::uint32_t stage, const std::vector<SlotId>& members);
    void show(std::uint32_t stage, std::uint32_t sender);
    void forget_step();
    void handle(const Event& event);

    void launch();

    // Legs
    void offer(std::uint32_t from, std::uint32_t stage, const Leg& leg, SlotId to);
    void send(std::uint32_t from, std::uint32_t to, const Leg& leg);
    void arrived(std::uint32_t number, const Leg& leg);
    void computed(std::uint32_t number);
    void accepted(const Event& event);
    void passed(const Event& event);
    void pump(std::uint32_t number);
    void start_job(std::uint32_t number);

    // Lines
    void send_frame(const Frame& frame);
    void up_done(std::uint32_t number);
    void frame_begins(std::uint32_t index);
    void frame_ends(std::uint32_t index);
    void down_done(std::uint32_t number);
    void arm(Pipe& line, Event::Kind done, std::uint32_t number);
    void leg_is_here(std::uint32_t index);

    // The end of a step
    void ask_to_reduce();
    void reduce(std::uint32_t stage);
    void seal(std::uint32_t number);
    void send_to_members(std::uint32_t number, Content content);
    void part_begins(std::uint32_t number, Content content, std::uint64_t bytes);
    void parts_are_here(std::uint32_t index);
    void swapped(std::uint32_t stage, Content content);
    void reduced(std::uint32_t stage);
    [[nodiscard]] Duration exchange() const;
    [[nodiscard]] TimePoint committed_at() const;
    [[nodiscard]] bool swaps(std::uint32_t stage) const;
    [[nodiscard]] Duration swap_latency(std::uint32_t stage) const;
    [[nodiscard]] Duration latency_of(const Frame& frame);

    [[nodiscard]] bool is_tail(std::uint32_t stage) const { return stage + 1 == stages_.size(); }

    [[nodiscard]] Duration least_latency(std::uint32_t from, std::uint32_t to) const;
    [[nodiscard]] Duration mean_latency(std::uint32_t from, std::uint32_t to) const;
    /// Draws the latency of one message.
    [[nodiscard]] Duration latency(std::uint32_t from, std::uint32_t to);
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
    swarm::Rng jitter_;
    router::Request request_;
    std::vector<Worker> workers_;              // by number
    std::vector<std::vector<SlotId>> stages_;  // a slot's value is the machine's number
    TimedQueue<Event> events_;
    Slab<Frame> frames_;  // frames in access lines
    TimePoint now_{};

    // State of the step
    std::uint64_t step_ = 0;
    std::uint32_t window_ = 0;
    std::uint32_t launched_ = 0;
    std::uint32_t in_flight_ = 0;
    std::vector<std::uint32_t> path_;    // machines' numbers, by microbatch and stage
    std::vector<TimePoint> offered_at_;  // by microbatch and stage, like path_
    std::uint32_t paths_ = 0;            // PATHs that have left the tail
    TimePoint last_path_{};              // when the coordinator had the last PATH
    std::vector<Sync> syncs_;            // by stage
};

}  // namespace sim
