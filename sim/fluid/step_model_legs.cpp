// The way of a microbatch through a StepModel, as stages/wave has it.
#include "sim/fluid/step_model.hpp"
#include "swarm/base/units.hpp"

#include <algorithm>
#include <cmath>

namespace sim {
namespace {

using swarm::in_seconds;

constexpr std::size_t kDeviceLegsMax = 2;  // the same as in stages/server/wave.hpp

}  // namespace

void StepModel::handle(const Event& event) {
    switch (event.kind) {
        case Event::Kind::UpDone:
            return up_done(event.worker);
        case Event::Kind::FrameBegins:
            return frame_begins(event.frame);
        case Event::Kind::FrameEnds:
            return frame_ends(event.frame);
        case Event::Kind::DownDone:
            return down_done(event.worker);
        case Event::Kind::Reduce:
            return reduce(event.stage);
        case Event::Kind::Arrived:
            return arrived(event.worker, event.leg);
        case Event::Kind::Computed:
            return computed(event.worker);
        case Event::Kind::Accepted:
            return accepted(event);
        case Event::Kind::Passed:
            return passed(event);
        case Event::Kind::LeftFlight:
            --in_flight_;
            return launch();
    }
}

void StepModel::offer(std::uint32_t from, std::uint32_t stage, const Leg& leg, SlotId to) {
    hop(leg.microbatch, stage) = static_cast<std::uint32_t>(to.value);
    offered_at_[at(leg.microbatch, stage)] = now_;
    ++workers_[to.value].due;
    send(from, static_cast<std::uint32_t>(to.value), leg);
}

// The coordinator sends tokens, which weigh nothing; all others send a tensor through two lines.
void StepModel::send(std::uint32_t from, std::uint32_t to, const Leg& leg) {
    const std::uint64_t bytes = from == kCoordinator ? 0 : scenario_.pipeline.activation_bytes;
    if (bytes == 0) {
        events_.push(now_ + latency(from, to), {Event::Kind::Arrived, to, leg, 0, 0});
    } else {
        send_frame({from, to, bytes, Content::Leg, leg});
    }
}

void StepModel::arrived(std::uint32_t number, const Leg& leg) {
    Worker& worker = workers_[number];
    const std::uint32_t stage = worker.stage;
    if (leg.is_backward) {
        worker.backwards.push_back(leg);
        if (is_tail(stage + 1)) {  // the tail's gradient is taken: its forward is passed on
            const std::uint32_t tail = hop(leg.microbatch, stage + 1);
            const Duration there = latency(number, tail) + latency(tail, number);
            events_.push(now_ + there, {Event::Kind::Passed, number, leg, stage + 1, 0});
        }
    } else {
        const std::uint32_t from = stage > 0 ? hop(leg.microbatch, stage - 1) : kCoordinator;
        events_.push(now_ + latency(number, from), {Event::Kind::Accepted, from, leg, stage, 0});
        worker.forwards.push_back(leg);
    }
    pump(number);
}

void StepModel::computed(std::uint32_t number) {
    Worker& worker = workers_[number];
    const Leg leg = worker.device.front();
    worker.device.pop_front();
    if (!worker.device.empty()) {
        start_job(number);
    }
    const bool tail = is_tail(worker.stage);
    if (!leg.is_backward && !tail) {
        worker.placing.push_back(leg);
        return pump(number);
    }
    const TimePoint told = now_ + latency(number, kCoordinator);
    if (tail) {
        last_path_ = std::max(last_path_, told);
        if (++paths_ == scenario_.pipeline.microbatches) {
            ask_to_reduce();
        }
    }
    --worker.due;
    if (worker.stage > 0) {
        send(number, hop(leg.microbatch, worker.stage - 1), {leg.microbatch, true});
    } else {
        events_.push(told, {Event::Kind::LeftFlight, kCoordinator, leg, 0, 0});
        if (tail) {
            events_.push(told, {Event::Kind::Passed, kCoordinator, leg, 0, 0});
        }
    }
    if (syncs_[worker.stage].is_asked) {
        seal(number);
    }
    pump(number);
}

// The machine whose offer was accepted tells the stage below it that the leg is passed on.
void StepModel::accepted(const Event& event) {
    const SlotId to{hop(event.leg.microbatch, event.stage)};
    workers_[event.worker].router->accepted(to, id_of(event.leg), now_);
    if (event.stage == 0) {
        return;
    }
    const std::uint32_t below =
        event.stage > 1 ? hop(event.leg.microbatch, event.stage - 2) : kCoordinator;
    events_.push(
        now_ + latency(event.worker, below),
        {Event::Kind::Passed, below, event.leg, event.stage - 1, 0}
    );
}

void StepModel::passed(const Event& event) {
    const std::uint32_t to = hop(event.leg.microbatch, event.stage);
    workers_[event.worker].router->passed({to}, id_of(event.leg), now_);
    workers_[to].queued_s += in_seconds(now_ - offered_at_[at(event.leg.microbatch, event.stage)]);
    if (event.worker == kCoordinator) {
        launch();
    } else {
        pump(event.worker);
    }
}

void StepModel::pump(std::uint32_t number) {
    Worker& worker = workers_[number];
    while (!worker.placing.empty()) {
        const Leg leg = worker.placing.front();
        const auto slot = worker.router->pick(id_of(leg), request_, now_);
        if (!slot) {
            break;
        }
        worker.placing.pop_front();
        offer(number, worker.stage + 1, leg, *slot);
    }
    while (worker.device.size() < kDeviceLegsMax) {
        std::deque<Leg>& queue = worker.backwards.empty() ? worker.forwards : worker.backwards;
        if (queue.empty()) {
            return;
        }
        worker.device.push_back(queue.front());
        queue.pop_front();
        if (worker.device.size() == 1) {
            start_job(number);
        }
    }
}

void StepModel::start_job(std::uint32_t number) {
    Worker& worker = workers_[number];
    const double forwards = is_tail(worker.stage) ? 3 : (worker.device.front().is_backward ? 2 : 1);
    const double takes_s = forwards * worker.forward_s;
    worker.busy_s += takes_s;
    events_.push(
        now_ + Duration(std::llround(takes_s * 1e9)), {Event::Kind::Computed, number, {}, 0, 0}
    );
}

}  // namespace sim
