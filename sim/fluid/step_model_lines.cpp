// The lines of a StepModel, and the end of its step, in which replicas use them, too.
#include "sim/fluid/step_model.hpp"
#include "swarm/base/units.hpp"
#include "swarm/run/step_time.hpp"

#include <algorithm>
#include <cmath>

namespace sim {
namespace {

using swarm::in_seconds;

// The mean of WorldOptions.sync_max's draws.
constexpr Duration kMeanSync = std::chrono::milliseconds(5);

}  // namespace

void StepModel::send_frame(const Frame& frame) {
    const auto index = frames_.take();
    frames_[index] = frame;
    Pipe& line = workers_[frame.from].up;
    line.add_bulk(frame.to, index, frame.bytes, now_, frame.links);
    arm(line, Event::Kind::UpDone, frame.from);
}

void StepModel::arm(Pipe& line, Event::Kind done, std::uint32_t number) {
    line.visit_begun([&](std::uint32_t index) {
        const Frame& frame = frames_[index];
        if (done == Event::Kind::UpDone) {
            const TimePoint begins = now_ + latency_of(frame);
            events_.push(begins, {Event::Kind::FrameBegins, frame.to, {}, 0, index});
        }
    });
    const TimePoint due = line.bulk_done_at();
    if (due < line.armed_for) {
        line.armed_for = due;
        events_.push(due, {done, number, {}, 0, 0});
    }
}

void StepModel::up_done(std::uint32_t number) {
    Pipe& line = workers_[number].up;
    if (line.armed_for != now_) {
        return;  // the event was armed anew for another time
    }
    line.armed_for = swarm::kNever;
    while (line.bulk_done_at() <= now_) {
        const std::uint32_t index = line.take_bulk(now_);
        const Frame& frame = frames_[index];
        const TimePoint ends = now_ + latency_of(frame);
        events_.push(ends, {Event::Kind::FrameEnds, frame.to, {}, 0, index});
    }
    arm(line, Event::Kind::UpDone, number);
}

void StepModel::frame_begins(std::uint32_t index) {
    const Frame frame = frames_[index];
    if (frame.content != Content::Leg) {
        for (const SlotId slot : stages_[workers_[frame.from].stage]) {
            const auto number = static_cast<std::uint32_t>(slot.value);
            if (number != frame.from) {
                part_begins(number, frame.content, frame.bytes / frame.links);
            }
        }
        return;
    }
    Pipe& line = workers_[frame.to].down;
    line.add_bulk(frame.from, index, frame.bytes, now_);
    arm(line, Event::Kind::DownDone, frame.to);
}

void StepModel::frame_ends(std::uint32_t index) {
    Frame& frame = frames_[index];
    if (frame.content != Content::Leg) {
        const std::uint32_t stage = workers_[frame.from].stage;
        const Content content = frame.content;
        frames_.release(index);
        return swapped(stage, content);
    }
    frame.end_is_here = true;
    if (frame.is_carried) {
        leg_is_here(index);
    }
}

void StepModel::down_done(std::uint32_t number) {
    Pipe& line = workers_[number].down;
    if (line.armed_for != now_) {
        return;
    }
    line.armed_for = swarm::kNever;
    while (line.bulk_done_at() <= now_) {
        const std::uint32_t index = line.take_bulk(now_);
        if (frames_[index].content != Content::Leg) {
            parts_are_here(index);
            continue;
        }
        frames_[index].is_carried = true;
        if (frames_[index].end_is_here) {
            leg_is_here(index);
        }
    }
    arm(line, Event::Kind::DownDone, number);
}

void StepModel::leg_is_here(std::uint32_t index) {
    const Frame frame = frames_[index];
    frames_.release(index);
    arrived(frame.to, frame.leg);
}

// The parts that a member's line brings at one time are one frame, for one event instead of many.
void StepModel::part_begins(std::uint32_t number, Content content, std::uint64_t bytes) {
    Worker& worker = workers_[number];
    if (worker.parts) {
        worker.down.join_bulk(number, bytes, now_);
    } else {
        worker.parts = frames_.take();
        frames_[*worker.parts] = {number, number, bytes, content, {}, 0};
        worker.down.add_bulk(number, *worker.parts, bytes, now_);
    }
    ++frames_[*worker.parts].links;
    arm(worker.down, Event::Kind::DownDone, number);
}

void StepModel::parts_are_here(std::uint32_t index) {
    const Frame frame = frames_[index];
    frames_.release(index);
    Worker& worker = workers_[frame.to];
    worker.parts.reset();
    worker.parts_here += frame.links;
    if (worker.parts_here + 1 == stages_[worker.stage].size()) {
        worker.parts_here = 0;
        swapped(worker.stage, frame.content);
    }
}

void StepModel::ask_to_reduce() {
    for (std::uint32_t stage = 0; stage < stages_.size(); ++stage) {
        const auto one = static_cast<std::uint32_t>(stages_[stage].front().value);
        events_.push(
            last_path_ + latency(kCoordinator, one), {Event::Kind::Reduce, one, {}, stage, 0}
        );
    }
}

void StepModel::reduce(std::uint32_t stage) {
    syncs_[stage].is_asked = true;
    for (const SlotId slot : stages_[stage]) {
        seal(static_cast<std::uint32_t>(slot.value));
    }
}

// A member whose gradients are all there sends its sums.
void StepModel::seal(std::uint32_t number) {
    const Worker& worker = workers_[number];
    if (worker.due > 0) {
        return;
    }
    if (swaps(worker.stage)) {
        send_to_members(number, Content::Sums);
    } else if (++syncs_[worker.stage].sums == stages_[worker.stage].size()) {
        reduced(worker.stage);
    }
}

bool StepModel::swaps(std::uint32_t stage) const {
    return !scenario_.pipeline.is_sparse() && stages_[stage].size() > 1;
}

void StepModel::send_to_members(std::uint32_t number, Content content) {
    const Worker& worker = workers_[number];
    const FleetPeer& machine = fleet_[number - 1];
    const double members = static_cast<double>(stages_[worker.stage].size());
    const double up = static_cast<double>(machine.up_bytes_per_s);
    const double each = content == Content::Sums ? swarm::run::bytes_of_sum(up) : sizeof(float);
    const double elements = static_cast<double>(scenario_.pipeline.exchanged());
    const auto bytes =
        static_cast<std::uint64_t>(std::llround(elements * each * (members - 1) / members));
    const auto links = static_cast<std::uint32_t>(stages_[worker.stage].size() - 1);
    send_frame({number, number, bytes, content, {}, links});
}

// A swap is over when each member has sent all of its parts and has got those of the others.
void StepModel::swapped(std::uint32_t stage, Content content) {
    const std::size_t all = 2 * stages_[stage].size();
    Sync& sync = syncs_[stage];
    if (content == Content::Sums && ++sync.sums == all) {
        for (const SlotId slot : stages_[stage]) {
            send_to_members(static_cast<std::uint32_t>(slot.value), Content::Values);
        }
    } else if (content == Content::Values && ++sync.values == all) {
        reduced(stage);
    }
}

// The last REDUCED is on its way.
void StepModel::reduced(std::uint32_t stage) {
    const auto one = static_cast<std::uint32_t>(stages_[stage].front().value);
    syncs_[stage].done_at = now_ + latency(one, kCoordinator);
}

// REDUCED of all stages, and the record is synced. An exchange of mode sparse follows some steps;
// each step bears its part.
TimePoint StepModel::committed_at() const {
    TimePoint reduced{};
    for (const Sync& sync : syncs_) {
        reduced = std::max(reduced, sync.done_at);
    }
    const Duration exchange_in_step =
        scenario_.pipeline.is_sparse()
            ? exchange() / static_cast<int>(scenario_.pipeline.steps_between_syncs())
            : Duration{};
    return reduced + kMeanSync + exchange_in_step;
}

// REDUCE, the shares, REDUCED, a record, and COMMIT.
Duration StepModel::exchange() const {
    Duration longest{};
    for (std::uint32_t stage = 0; stage < stages_.size(); ++stage) {
        double slowest_s = 0;
        for (const SlotId slot : stages_[stage]) {
            const FleetPeer& machine = fleet_[slot.value - 1];
            const auto members = static_cast<std::uint32_t>(stages_[stage].size());
            for (const std::uint64_t rate : {machine.up_bytes_per_s, machine.down_bytes_per_s}) {
                const auto line = static_cast<double>(rate);
                const double bytes = swarm::run::sync_bytes(
                    scenario_.pipeline.mode, scenario_.pipeline.exchanged(), members, line
                );
                slowest_s = std::max(slowest_s, rate > 0 ? bytes / line : 0);
            }
        }
        const auto one = static_cast<std::uint32_t>(stages_[stage].front().value);
        const Duration hops = mean_latency(kCoordinator, one) + mean_latency(one, kCoordinator);
        const Duration shares(std::llround(slowest_s * 1e9));
        const bool alone = stages_[stage].size() == 1;
        longest = std::max(longest, hops + shares + (alone ? Duration{} : swap_latency(stage)));
    }
    return longest + kMeanSync;
}

Duration StepModel::latency_of(const Frame& frame) {
    const bool to_members = frame.from == frame.to;
    return to_members ? swap_latency(workers_[frame.from].stage) : latency(frame.from, frame.to);
}

Duration StepModel::swap_latency(std::uint32_t stage) const {
    return mean_latency(
        static_cast<std::uint32_t>(stages_[stage].front().value),
        static_cast<std::uint32_t>(stages_[stage].back().value)
    );
}

}  // namespace sim
