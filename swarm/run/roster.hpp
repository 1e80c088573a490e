// Who is in the run, by slot: members, suspects, draining ones, observers. The coordinator owns the
// true one; every peer keeps the last copy it was sent.
// Invariants: slot ids are never reused within a run (cinc in the high bits); one slot per peer;
// `number` grows with every change, so a peer can tell whether it is up to date.
// Cost: O(log slots) per look-up, O(slots of the stage) per list of one; message() and replace() a
// pointer (protocol/slot_table).
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

    /// `info.slot` is chosen here. The peer has no slot yet.
    SlotId add(protocol::SlotInfo info);
    void remove(SlotId slot);
    void set_standing(SlotId slot, protocol::Standing standing);

    /// Null when there is none (it was fenced, or left). Good until the roster changes.
    [[nodiscard]] const protocol::SlotInfo* find(SlotId slot) const { return slots_.find(slot); }

    [[nodiscard]] const protocol::SlotInfo* find_peer(PeerId peer) const {
        return slots_.find_peer(peer);
    }

    /// In every standing.
    [[nodiscard]] std::span<const SlotId> slots_of(StageIndex stage) const {
        return slots_.of_stage(stage);
    }

    /// Members in every standing but Observer, in slot order.
    [[nodiscard]] std::vector<SlotId> members(StageIndex stage) const;
    [[nodiscard]] bool has_member(StageIndex stage) const;
    /// Those to whom new work may be offered; who leaves only where nobody else is, as it can go at
    /// a commit alone.
    [[nodiscard]] std::vector<SlotId> pickable(StageIndex stage) const;
    [[nodiscard]] std::vector<SlotId> observers(StageIndex stage) const;
    [[nodiscard]] std::vector<SlotId> all_members() const;

    [[nodiscard]] std::size_t member_count() const { return slots_.size() - slots_.observers(); }

    [[nodiscard]] std::vector<std::uint32_t> peers_per_stage() const;

    [[nodiscard]] const protocol::SlotTable& slots() const { return slots_; }

    [[nodiscard]] std::uint64_t number() const { return number_; }

    [[nodiscard]] protocol::Roster message() const { return {number_, slots_}; }

    /// Takes over what the coordinator sent. Older numbers change nothing: false.
    bool replace(const protocol::Roster& message);

 private:
    std::uint32_t stages_;
    std::uint64_t next_slot_;
    std::uint64_t number_ = 0;
    protocol::SlotTable slots_;
};

}  // namespace swarm::run
