#include "tests/golden/pipeline.hpp"

#include "tests/golden/parts.hpp"

#include <algorithm>
#include <deque>
#include <memory>
#include <utility>

namespace sim::golden {
namespace {

using swarm::MicrobatchId;
using swarm::protocol::Backward;
using swarm::protocol::Forward;

struct Watch {
    TimePoint first_start = swarm::kNever;
    TimePoint last_end{};
    std::uint32_t held = 0;
    std::uint32_t most_held = 0;
};

class Stage final : public node::Role {
 public:
    Stage(const PipelineOptions& options, std::uint32_t stage, std::shared_ptr<Watch> watch)
        : options_(options), stage_(stage), watch_(std::move(watch)) {}

    [[nodiscard]] TimePoint next_deadline() const override { return due_; }

    void on(const node::Event& event, TimePoint now, node::Outbox& out) override {
        if (std::holds_alternative<node::Woke>(event)) {
            due_ = swarm::kNever;
            if (is_last()) {
                linked_ = true;
            } else {
                out.add(node::Dial{peer(stage_ + 2), node::Lane::Bulk, ""});
            }
        } else if (const auto* up = std::get_if<node::LinkUp>(&event)) {
            linked_ = linked_ || up->peer == peer(stage_ + 2);
            if (stage_ == 0) {
                for (std::uint32_t id = 0; id < options_.microbatches; ++id) {
                    forwards_.push_back(id);
                }
            }
        } else if (const auto* received = std::get_if<node::Received>(&event)) {
            take(received->message.body);
        } else if (std::holds_alternative<node::Computed>(event)) {
            finish(now, out);
        }
        start(now, out);
    }

 private:
    [[nodiscard]] bool is_last() const { return stage_ + 1 == options_.stages; }

    void take(const swarm::protocol::Body& body) {
        if (const auto* forward = std::get_if<Forward>(&body)) {
            forwards_.push_back(forward->microbatch.value);
        } else if (const auto* backward = std::get_if<Backward>(&body)) {
            backwards_.push_back(backward->microbatch.value);
        }
    }

    void finish(TimePoint now, node::Outbox& out) {
        const auto [is_forward, id] = *running_;
        running_.reset();
        if (is_forward) {
            ++forwards_done_;
            if (is_last()) {
                backwards_.push_back(id);
            } else {
                out.add(leg_to<Forward>(peer(stage_ + 2), MicrobatchId{id}));
            }
            return;
        }
        --held_;
        if (stage_ == 0) {
            --watch_->held;
            watch_->last_end = now;
            return;
        }
        out.add(leg_to<Backward>(peer(stage_), MicrobatchId{id}));
    }

    void start(TimePoint now, node::Outbox& out) {
        if (running_ || !linked_) {
            return;
        }
        const bool gpipe = options_.order == Order::GPipe;
        const bool backward_may = !gpipe || forwards_done_ == options_.microbatches;
        const bool forward_may = gpipe || held_ < options_.stages - stage_;
        if (!backwards_.empty() && backward_may) {
            running_.emplace(false, backwards_.front());
            backwards_.pop_front();
        } else if (!forwards_.empty() && forward_may) {
            running_.emplace(true, forwards_.front());
            forwards_.pop_front();
            ++held_;
            if (stage_ == 0) {
                watch_->first_start = std::min(watch_->first_start, now);
                watch_->most_held = std::max(watch_->most_held, ++watch_->held);
            }
        } else {
            return;
        }
        const double work = running_->first ? options_.forward_s : options_.backward_s;
        out.add(node::Compute{{++jobs_}, std::make_shared<Work>(work)});
    }

    const PipelineOptions options_;
    std::uint32_t stage_;
    std::shared_ptr<Watch> watch_;
    TimePoint due_ = swarm::kAtOnce;
    bool linked_ = false;
    std::deque<std::uint32_t> forwards_;
    std::deque<std::uint32_t> backwards_;
    std::optional<std::pair<bool, std::uint32_t>> running_;  // (is it a forward, microbatch)
    std::uint32_t forwards_done_ = 0;
    std::uint32_t held_ = 0;
    std::uint64_t jobs_ = 0;
};

}  // namespace

PipelineOutcome run_pipeline(const PipelineOptions& options) {
    World world(world_options(options.latency, options.tensor_bytes));
    const auto watch = std::make_shared<Watch>();
    for (std::uint32_t stage = 0; stage < options.stages; ++stage) {
        PeerOptions machine;
        machine.up_bytes_per_s = 0;  // 0: only the receiver's line limits a link
        machine.down_bytes_per_s = options.line_bytes_per_s;
        machine.device.units_per_s = 1;
        world.add_peer(
            peer(stage + 1),
            [=](swarm::Incarnation) { return std::make_unique<Stage>(options, stage, watch); },
            machine
        );
    }
    while (world.step()) {
    }
    PipelineOutcome outcome;
    outcome.step_s = seconds(watch->last_end - watch->first_start);
    for (std::uint32_t stage = 0; stage < options.stages; ++stage) {
        outcome.busy_s += seconds(world.busy(peer(stage + 1)));
    }
    outcome.bubble = 1 - outcome.busy_s / (outcome.step_s * options.stages);
    outcome.most_held = watch->most_held;
    return outcome;
}

}  // namespace sim::golden
