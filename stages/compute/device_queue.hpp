// Gives a role's work to its device and runs the continuation of each piece afterwards. The work
// runs on the device's thread and touches only what it captured; the continuation runs in a turn of
// the role.
// Invariant: work runs in the order of submit(). Each continuation runs once, or never when the
// process ends. A continuation that comes too late (recall, new step) has to notice that itself.
// Threading: submit() and done() are called on the role's strand.
#pragma once

#include "swarm/base/check.hpp"
#include "swarm/node/role.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <utility>

namespace stages {

namespace node = swarm::node;

class DeviceQueue {
 public:
    using Work = std::function<void()>;
    using Then = std::function<void(node::Turn)>;

    void submit(node::Turn turn, double work_units, Work work, Then then = {}) {
        const swarm::JobId id{next_++};
        const bool answered = then != nullptr;
        if (answered) {
            pending_[id] = std::move(then);
        }
        turn.out.add(node::Compute{
            id, std::make_shared<Piece>(std::move(work), work_units), answered});
    }

    /// Submits work that leaves an outcome for its continuation.
    template <class Outcome, class Produce, class Consume>
    void submit_for(node::Turn turn, double work_units, Produce produce, Consume consume) {
        auto outcome = std::make_shared<Outcome>();
        submit(
            turn,
            work_units,
            [outcome, produce = std::move(produce)]() { produce(*outcome); },
            [outcome, consume = std::move(consume)](node::Turn later) { consume(*outcome, later); }
        );
    }

    void done(swarm::JobId id, node::Turn turn) {
        const auto found = pending_.find(id);
        SWARM_ASSERT(found != pending_.end());
        const Then then = std::move(found->second);
        pending_.erase(found);
        then(turn);
    }

 private:
    class Piece final : public node::Job {
     public:
        Piece(Work work, double work_units) : work_(std::move(work)), work_units_(work_units) {}

        void run() override {
            work_();
            work_ = {};  // frees what the work captured
        }

        [[nodiscard]] double work_units() const override { return work_units_; }

     private:
        Work work_;
        double work_units_;
    };

    std::uint64_t next_ = 1;
    std::map<swarm::JobId, Then> pending_;  // continuations of the work under way
};

}  // namespace stages
