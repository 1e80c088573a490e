#include "tests/golden/remote_stage.hpp"

#include "tests/golden/parts.hpp"

#include <cmath>
#include <deque>
#include <memory>
#include <utility>

namespace sim::golden {
namespace {

using swarm::MicrobatchId;
using swarm::protocol::Backward;
using swarm::protocol::Forward;

constexpr PeerId kTrainer = peer(1);
constexpr PeerId kServer = peer(2);
constexpr double kForwardPart =
    1.0 / 3;  // forward's part of the compute; a backward takes the rest

/// Serves legs in the order of arrival and answers each with a leg of the same kind.
class Server final : public node::Role {
 public:
    explicit Server(double compute_s) : compute_s_(compute_s) {}

    [[nodiscard]] TimePoint next_deadline() const override { return swarm::kNever; }

    void on(const node::Event& event, TimePoint /*now*/, node::Outbox& out) override {
        if (const auto* received = std::get_if<node::Received>(&event)) {
            const auto* const forward = std::get_if<Forward>(&received->message.body);
            const auto* const backward = std::get_if<Backward>(&received->message.body);
            const double part = forward ? kForwardPart : 1 - kForwardPart;
            waiting_.emplace_back(
                forward != nullptr, forward ? forward->microbatch : backward->microbatch
            );
            out.add(node::Compute{{++jobs_}, std::make_shared<Work>(compute_s_ * part)});
        } else if (std::holds_alternative<node::Computed>(event)) {
            const auto [is_forward, id] = waiting_.front();
            waiting_.pop_front();
            out.add(is_forward ? leg_to<Forward>(kTrainer, id) : leg_to<Backward>(kTrainer, id));
        }
    }

 private:
    double compute_s_;
    std::deque<std::pair<bool, MicrobatchId>> waiting_;
    std::uint64_t jobs_ = 0;
};

struct Run {
    TimePoint began{};
    TimePoint ended{};
    std::uint32_t done = 0;
};

class Trainer final : public node::Role {
 public:
    Trainer(std::uint32_t in_flight, std::shared_ptr<Run> progress)
        : in_flight_(in_flight), progress_(std::move(progress)) {}

    [[nodiscard]] TimePoint next_deadline() const override { return due_; }

    void on(const node::Event& event, TimePoint now, node::Outbox& out) override {
        if (std::holds_alternative<node::Woke>(event)) {
            due_ = swarm::kNever;
            out.add(node::Dial{kServer, node::Lane::Bulk, ""});
        } else if (std::holds_alternative<node::LinkUp>(event)) {
            progress_->began = now;
            for (std::uint32_t i = 0; i < in_flight_; ++i) {
                launch(out);
            }
        } else if (const auto* received = std::get_if<node::Received>(&event)) {
            if (const auto* forward = std::get_if<Forward>(&received->message.body)) {
                out.add(leg_to<Backward>(kServer, forward->microbatch));
                return;
            }
            ++progress_->done;
            progress_->ended = now;
            launch(out);
        }
    }

 private:
    void launch(node::Outbox& out) { out.add(leg_to<Forward>(kServer, MicrobatchId{++launched_})); }

    std::uint32_t in_flight_;
    std::shared_ptr<Run> progress_;
    TimePoint due_ = swarm::kAtOnce;
    std::uint32_t launched_ = 0;
};

}  // namespace

double utilisation(const RemoteStageOptions& options) {
    World world(world_options(options.one_way, 0));
    const auto progress = std::make_shared<Run>();
    world.add_peer(kTrainer, [&](swarm::Incarnation) {
        return std::make_unique<Trainer>(options.in_flight, progress);
    });
    PeerOptions machine;
    machine.device.units_per_s = 1;
    machine.device.overhead = Duration(std::llround(options.unhidden_s * 1e9 / 2));
    world.add_peer(
        kServer,
        [&](swarm::Incarnation) { return std::make_unique<Server>(options.compute_s); },
        machine
    );
    while (progress->done < options.microbatches && world.step()) {
    }
    return world.work_done(kServer) / seconds(progress->ended - progress->began);
}

}  // namespace sim::golden
