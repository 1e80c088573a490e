#include "swarm/run/roster.hpp"

#include "swarm/base/check.hpp"

#include <algorithm>
#include <utility>

namespace swarm::run {

using protocol::SlotInfo;
using protocol::Standing;

SlotId Roster::add(SlotInfo info) {
    SWARM_ASSERT(!by_peer_.contains(info.peer));
    info.slot = SlotId{++next_slot_};
    ++number_;
    const SlotId slot = info.slot;
    insert(std::move(info));
    return slot;
}

void Roster::insert(SlotInfo info) {
    const auto known = slots_.find(info.slot);
    if (known != slots_.end()) {
        erase(known);  // a message that names a slot twice
    }
    by_peer_[info.peer] = info.slot;
    by_stage_[info.stage].insert(info.slot);
    observers_ += info.standing == Standing::Observer ? 1U : 0U;
    const SlotId slot = info.slot;
    slots_.emplace(slot, std::move(info));
}

Roster::Slots::iterator Roster::erase(Slots::iterator at) {
    const auto peer = by_peer_.find(at->second.peer);
    if (peer != by_peer_.end() && peer->second == at->first) {
        by_peer_.erase(peer);
    }
    by_stage_.at(at->second.stage).erase(at->first);
    observers_ -= at->second.standing == Standing::Observer ? 1U : 0U;
    return slots_.erase(at);
}

void Roster::remove(SlotId slot) {
    const auto found = slots_.find(slot);
    if (found != slots_.end()) {
        ++number_;
        erase(found);
    }
}

void Roster::set_standing(SlotId slot, Standing standing) {
    const auto found = slots_.find(slot);
    if (found != slots_.end() && found->second.standing != standing) {
        ++number_;
        observers_ -= found->second.standing == Standing::Observer ? 1U : 0U;
        observers_ += standing == Standing::Observer ? 1U : 0U;
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

const std::set<SlotId>& Roster::slots_of(StageIndex stage) const {
    static const std::set<SlotId> kNone;
    const auto found = by_stage_.find(stage);
    return found == by_stage_.end() ? kNone : found->second;
}

std::vector<SlotId> Roster::members(StageIndex stage) const {
    std::vector<SlotId> found;
    for (const SlotId slot : slots_of(stage)) {
        if (slots_.at(slot).standing != Standing::Observer) {
            found.push_back(slot);
        }
    }
    return found;
}

bool Roster::has_member(StageIndex stage) const {
    const std::set<SlotId>& slots = slots_of(stage);
    return std::any_of(slots.begin(), slots.end(), [&](SlotId slot) {
        return slots_.at(slot).standing != Standing::Observer;
    });
}

std::vector<SlotId> Roster::pickable(StageIndex stage) const {
    std::vector<SlotId> found;
    std::vector<SlotId> leaving;
    for (const SlotId slot : slots_of(stage)) {
        const Standing standing = slots_.at(slot).standing;
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
        if (slots_.at(slot).standing == Standing::Observer) {
            found.push_back(slot);
        }
    }
    return found;
}

std::vector<SlotId> Roster::all_members() const {
    std::vector<SlotId> found;
    found.reserve(member_count());
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
    // Most slots are as they were: only what differs is touched.
    auto own = slots_.begin();
    for (const SlotInfo& info : message.slots) {
        while (own != slots_.end() && own->first < info.slot) {
            own = erase(own);
        }
        if (own != slots_.end() && own->first == info.slot) {
            if (own->second != info) {
                own = erase(own);
                insert(info);
            } else {
                ++own;
            }
        } else {
            insert(info);
        }
    }
    while (own != slots_.end()) {
        own = erase(own);
    }
    return true;
}

}  // namespace swarm::run
