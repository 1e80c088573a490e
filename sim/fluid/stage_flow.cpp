#include "sim/fluid/stage_flow.hpp"

#include "swarm/base/check.hpp"

#include <algorithm>

namespace sim {

void StageFlow::add(SlotId slot, std::uint32_t number, const PeerFlow& flow) {
    members_.insert(find(slot), {slot, number, {}, 0});
    change(slot, flow);
}

void StageFlow::remove(SlotId slot) {
    members_.erase(find(slot));
    refresh();
}

void StageFlow::change(SlotId slot, const PeerFlow& flow) {
    const auto member = find(slot);
    SWARM_ASSERT(member != members_.end() && member->slot == slot);
    member->flow = flow;
    member->weight = flow.per_s > 0 ? policy_->long_run_weight(flow.units_per_s) : 0;
    refresh();
}

std::vector<StageFlow::Member>::iterator StageFlow::find(SlotId slot) {
    return std::lower_bound(
        members_.begin(),
        members_.end(),
        slot,
        [](const Member& member, SlotId wanted) { return member.slot < wanted; }
    );
}

// Sums anew instead of adding differences, which would drift.
void StageFlow::refresh() {
    weights_ = 0;
    double compute_s = 0;
    double carry_s = 0;
    double flow_per_weight = 0;  // the flow at which the first member is full, per weight
    for (const Member& member : members_) {
        if (member.weight <= 0) {
            continue;
        }
        const double full_at = member.flow.per_s / member.weight;
        flow_per_weight = weights_ == 0 ? full_at : std::min(flow_per_weight, full_at);
        weights_ += member.weight;
        compute_s += member.weight * member.flow.compute_s;
        carry_s += member.weight * member.flow.carry_s;
    }
    capacity_ = flow_per_weight * weights_;
    compute_s_ = weights_ > 0 ? compute_s / weights_ : 0;
    carry_s_ = weights_ > 0 ? carry_s / weights_ : 0;
}

}  // namespace sim
