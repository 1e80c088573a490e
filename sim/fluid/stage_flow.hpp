// A stage as a flow: its members, the shares in which a policy splits the flow among them, and the
// figures that follow from both.
// Invariant: the shares of the members that work sum to 1. The stage's capacity is the flow at
// which the first member is full: the sum of the rates where shares follow rates, less where they
// do not (uniform).
// Units: the same as in peer_flow.hpp. Threading: none. Cost: a change O(members) additions, else
// O(1).
#pragma once

#include "router/policy.hpp"
#include "sim/fluid/peer_flow.hpp"
#include "swarm/base/ids.hpp"

#include <cstdint>
#include <vector>

namespace sim {

using swarm::SlotId;

class StageFlow {
 public:
    struct Member {
        SlotId slot;
        std::uint32_t number = 0;  // the machine's number
        PeerFlow flow;
        double weight = 0;  // by the policy; 0: the machine stands still
    };

    /// The policy outlives the stage.
    explicit StageFlow(const router::Policy& policy) : policy_(&policy) {}

    void add(SlotId slot, std::uint32_t number, const PeerFlow& flow);
    void remove(SlotId slot);
    void change(SlotId slot, const PeerFlow& flow);

    /// The members in slot order.
    [[nodiscard]] const std::vector<Member>& members() const { return members_; }

    [[nodiscard]] double share(const Member& member) const {
        return weights_ > 0 ? member.weight / weights_ : 0;
    }

    /// Microbatches per second.
    [[nodiscard]] double capacity() const { return capacity_; }

    /// Device time per microbatch, a mean by the shares.
    [[nodiscard]] double compute_s() const { return compute_s_; }

    [[nodiscard]] double carry_s() const { return carry_s_; }

 private:
    [[nodiscard]] std::vector<Member>::iterator find(SlotId slot);
    void refresh();

    const router::Policy* policy_;
    std::vector<Member> members_;
    double weights_ = 0;
    double capacity_ = 0;
    double compute_s_ = 0;
    double carry_s_ = 0;
};

}  // namespace sim
