// A role whose device work counts in forwards: wraps a role and divides the work units of its jobs
// by those of one forward, so that the device can hold each by --service-ms (a backward twice, the
// tail's forward and backward three times).
// The size of a forward is known once the stage is: `forward_units` is read when a job is given
// out. Zero means unknown: such jobs are bookkeeping.
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

    /// Before the first event: the inner role may need what only a listening host knows.
    void wrap(std::unique_ptr<node::Role> inner) { inner_ = std::move(inner); }

    void on(const node::Event& event, TimePoint now, node::Outbox& out) override;

    [[nodiscard]] TimePoint next_deadline() const override { return inner_->next_deadline(); }

 private:
    std::unique_ptr<node::Role> inner_;
    std::shared_ptr<const double> forward_units_;
};

}  // namespace swarm::cli
