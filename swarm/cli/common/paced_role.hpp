// A role whose device work counts in forwards. It wraps a role and divides the work units of each
// job by those of one forward, so that the device can hold a job for --service-ms per forward: a
// backward for twice as long, the tail's forward and backward for three times as long.
// The size of a forward is known once the stage is known, so `forward_units` is read when a job is
// given out. Zero means unknown: such jobs are bookkeeping and are not held.
// Threading: a role, single strand.
#pragma once

#include "swarm/node/role.hpp"

#include <memory>
#include <utility>

namespace swarm::cli {

class PacedRole final : public node::Role {
 public:
    explicit PacedRole(std::shared_ptr<const double> forward_units)
        : forward_units_(std::move(forward_units)) {}

    /// Called before the first event: the inner role may need facts that only a listening host
    /// knows.
    void wrap(std::unique_ptr<node::Role> inner) { inner_ = std::move(inner); }

    void on(const node::Event& event, TimePoint now, node::Outbox& out) override;

    [[nodiscard]] TimePoint next_deadline() const override { return inner_->next_deadline(); }

    [[nodiscard]] node::Allowance allowance(const PeerId& peer) const override {
        return inner_->allowance(peer);
    }

 private:
    std::unique_ptr<node::Role> inner_;
    std::shared_ptr<const double> forward_units_;
};

}  // namespace swarm::cli
