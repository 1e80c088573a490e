// One member of a reduction that is measured: a role around stages::Reduction, as the stage server
// is one. It dials the conductor and the members whose id is larger, says JOIN when it is linked to
// all of them, and then answers REDUCE.
// Threading: a role, single strand. Errors: a link that cannot be had ends the process.
#pragma once

#include "stages/server/reduction.hpp"
#include "swarm/node/role.hpp"

#include <cstdint>
#include <memory>
#include <vector>

namespace swarm::bench {

class ReduceMember final : public node::Role {
 public:
    /// The member's accumulator holds the gradient of microbatch `own` of as many as there are
    /// members.
    ReduceMember(
        const std::vector<PeerId>& members,
        std::uint32_t own,
        PeerId conductor,
        std::uint32_t elements
    );

    void on(const node::Event& event, TimePoint now, node::Outbox& out) override;
    [[nodiscard]] TimePoint next_deadline() const override;

 private:
    void dial_all(node::Turn turn);
    void linked(const node::LinkUp& up, node::Turn turn);
    void received(const node::Received& received, node::Turn turn);

    stages::ServerContext context_;
    stages::Reduction reduction_{context_};
    stages::MicrobatchIds held_;
    std::size_t links_ = 0;
    std::size_t links_wanted_;
    bool started_ = false;
};

/// The configuration at version 0 of a run of one stage, in which each member computes one
/// microbatch.
run::RunConfig reduced_run(std::uint32_t members, std::uint32_t elements);
/// The slot of member `index`.
SlotId slot_of_member(std::uint32_t index);

}  // namespace swarm::bench
