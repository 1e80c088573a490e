// The slots of a run: members, suspects, draining members and observers. The coordinator owns the
// true roster; every peer keeps the last copy that it was sent.
// Invariants: slot ids are never reused within a run (cinc in the high bits); a peer has one slot;
// `number` grows with every change, so a peer can tell whether its copy is up to date.
// Threading: a value. Cost: O(log slots) per look-up, O(slots of the stage) per list of a stage;
// message() and replace() copy a pointer (protocol/slot_table).
#pragma once

#include "swarm/protocol/message.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace swarm::run {

class Roster {
 public:
    explicit Roster(std::uint32_t stages, std::uint32_t cinc = 0)
        : stages_(stages), next_slot_(static_cast<std::uint64_t>(cinc) << 32) {}

    /// Chooses `info.slot` and returns it. Requires that the peer has no slot yet.
    SlotId add(protocol::SlotInfo info);
    void remove(SlotId slot);
    void set_standing(SlotId slot, protocol::Standing standing);

    /// Null for a slot that was fenced or has left. The pointer is good until the roster changes.
    [[nodiscard]] const protocol::SlotInfo* find(SlotId slot) const { return slots_.find(slot); }

    [[nodiscard]] const protocol::SlotInfo* find_peer(PeerId peer) const {
        return slots_.find_peer(peer);
    }

    /// Slots of every standing.
    [[nodiscard]] std::span<const SlotId> slots_of(StageIndex stage) const {
        return slots_.of_stage(stage);
    }

    /// Members in every standing but Observer, in slot order.
    [[nodiscard]] std::vector<SlotId> members(StageIndex stage) const;
    [[nodiscard]] bool has_member(StageIndex stage) const;
    /// Members to whom new work may be offered. A draining member is among them only if there is no
    /// other: it stays until a commit in any case.
    [[nodiscard]] std::vector<SlotId> pickable(StageIndex stage) const;
    [[nodiscard]] std::vector<SlotId> observers(StageIndex stage) const;
    [[nodiscard]] std::vector<SlotId> all_members() const;

    [[nodiscard]] std::size_t member_count() const { return slots_.size() - slots_.observers(); }

    [[nodiscard]] std::vector<std::uint32_t> peers_per_stage() const;

    [[nodiscard]] const protocol::SlotTable& slots() const { return slots_; }

    [[nodiscard]] std::uint64_t number() const { return number_; }

    [[nodiscard]] protocol::Roster message() const { return {number_, slots_}; }

    /// Takes over a roster of the coordinator. Returns false, and changes nothing, for one that is
    /// not newer.
    bool replace(const protocol::Roster& message);

 private:
    std::uint32_t stages_;
    std::uint64_t next_slot_;
    std::uint64_t number_ = 0;
    protocol::SlotTable slots_;
};

}  // namespace swarm::run
