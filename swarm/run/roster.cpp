#include "swarm/run/roster.hpp"

#include "swarm/base/check.hpp"

#include <utility>

namespace swarm::run {

using protocol::SlotInfo;
using protocol::Standing;

SlotId Roster::add(SlotInfo info) {
    SWARM_ASSERT(!by_peer_.contains(info.peer));
    info.slot = SlotId{++next_slot_};
    ++number_;
    by_peer_[info.peer] = info.slot;
    const SlotId slot = info.slot;
    slots_[slot] = std::move(info);
    return slot;
}

void Roster::remove(SlotId slot) {
    const auto found = slots_.find(slot);
    if (found != slots_.end()) {
        ++number_;
        by_peer_.erase(found->second.peer);
        slots_.erase(found);
    }
}

void Roster::set_standing(SlotId slot, Standing standing) {
    const auto found = slots_.find(slot);
    if (found != slots_.end() && found->second.standing != standing) {
        ++number_;
        found->second.standing = standing;
    }
}

const SlotInfo* Roster::find(SlotId slot) const {
    const auto found = slots_.find(slot);
    return found == slots_.end() ? nullptr : &found->second;
}

const SlotInfo* Roster::find_peer(PeerId peer) const {
    const auto found = by_peer_.find(peer);
    return found == by_peer_.end() ? nullptr : &slots_.at(found->second);
}

std::vector<SlotId> Roster::members(StageIndex stage) const {
    std::vector<SlotId> found;
    for (const auto& [slot, info] : slots_) {
        if (info.stage == stage && info.standing != Standing::Observer) {
            found.push_back(slot);
        }
    }
    return found;
}

std::vector<SlotId> Roster::pickable(StageIndex stage) const {
    std::vector<SlotId> found;
    std::vector<SlotId> leaving;
    for (const auto& [slot, info] : slots_) {
        if (info.stage == stage && info.standing == Standing::Member) {
            found.push_back(slot);
        } else if (info.stage == stage && info.standing == Standing::Draining) {
            leaving.push_back(slot);
        }
    }
    return found.empty() ? leaving : found;
}

std::vector<SlotId> Roster::observers(StageIndex stage) const {
    std::vector<SlotId> found;
    for (const auto& [slot, info] : slots_) {
        if (info.stage == stage && info.standing == Standing::Observer) {
            found.push_back(slot);
        }
    }
    return found;
}

std::vector<SlotId> Roster::all_members() const {
    std::vector<SlotId> found;
    for (const auto& [slot, info] : slots_) {
        if (info.standing != Standing::Observer) {
            found.push_back(slot);
        }
    }
    return found;
}

std::vector<std::uint32_t> Roster::peers_per_stage() const {
    std::vector<std::uint32_t> counts(stages_, 0);
    for (const auto& [slot, info] : slots_) {
        if (info.standing != Standing::Observer && info.stage.value < stages_) {
            ++counts[info.stage.value];
        }
    }
    return counts;
}

protocol::Roster Roster::message() const {
    protocol::Roster message{number_, {}};
    message.slots.reserve(slots_.size());
    for (const auto& [slot, info] : slots_) {
        message.slots.push_back(info);
    }
    return message;
}

bool Roster::replace(const protocol::Roster& message) {
    if (message.number <= number_) {
        return false;
    }
    number_ = message.number;
    slots_.clear();
    by_peer_.clear();
    for (const SlotInfo& info : message.slots) {
        slots_[info.slot] = info;
        by_peer_[info.peer] = info.slot;
    }
    return true;
}

}  // namespace swarm::run
