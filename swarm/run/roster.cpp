#include "swarm/run/roster.hpp"

#include <algorithm>
#include <utility>

namespace swarm::run {

using protocol::SlotInfo;
using protocol::Standing;

SlotId Roster::add(SlotInfo info) {
    const SlotId slot{++next_slot_};
    info.slot = slot;
    ++number_;
    slots_.add(std::move(info));
    return slot;
}

void Roster::remove(SlotId slot) {
    if (find(slot)) {
        ++number_;
        slots_.remove(slot);
    }
}

void Roster::set_standing(SlotId slot, Standing standing) {
    const SlotInfo* const info = find(slot);
    if (info && info->standing != standing) {
        ++number_;
        slots_.set_standing(slot, standing);
    }
}

std::vector<SlotId> Roster::members(StageIndex stage) const {
    std::vector<SlotId> found;
    for (const SlotId slot : slots_of(stage)) {
        if (find(slot)->standing != Standing::Observer) {
            found.push_back(slot);
        }
    }
    return found;
}

bool Roster::has_member(StageIndex stage) const {
    const std::span<const SlotId> slots = slots_of(stage);
    return std::any_of(slots.begin(), slots.end(), [&](SlotId slot) {
        return find(slot)->standing != Standing::Observer;
    });
}

std::vector<SlotId> Roster::pickable(StageIndex stage) const {
    std::vector<SlotId> found;
    std::vector<SlotId> leaving;
    for (const SlotId slot : slots_of(stage)) {
        const Standing standing = find(slot)->standing;
        if (standing == Standing::Member) {
            found.push_back(slot);
        } else if (standing == Standing::Draining) {
            leaving.push_back(slot);
        }
    }
    return found.empty() ? leaving : found;
}

std::vector<SlotId> Roster::observers(StageIndex stage) const {
    std::vector<SlotId> found;
    for (const SlotId slot : slots_of(stage)) {
        if (find(slot)->standing == Standing::Observer) {
            found.push_back(slot);
        }
    }
    return found;
}

std::vector<SlotId> Roster::all_members() const {
    std::vector<SlotId> found;
    found.reserve(member_count());
    for (const SlotInfo& info : slots_) {
        if (info.standing != Standing::Observer) {
            found.push_back(info.slot);
        }
    }
    return found;
}

std::vector<std::uint32_t> Roster::peers_per_stage() const {
    std::vector<std::uint32_t> counts(stages_, 0);
    for (const SlotInfo& info : slots_) {
        if (info.standing != Standing::Observer && info.stage.value < stages_) {
            ++counts[info.stage.value];
        }
    }
    return counts;
}

bool Roster::replace(const protocol::Roster& message) {
    if (message.number <= number_) {
        return false;
    }
    number_ = message.number;
    slots_ = message.slots;
    return true;
}

}  // namespace swarm::run
