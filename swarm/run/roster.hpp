// Who is in the run, by slot: members, suspects, draining ones, observers. The coordinator owns the
// true one; every peer keeps the last copy it was sent.
// Invariants: slot ids are never reused within a run (cinc in the high bits); one slot per peer;
// `number` grows with every change, so a peer can tell whether it is up to date.
// Cost: O(log slots) per look-up, O(slots of the stage) per list of one.
#pragma once

#include "swarm/protocol/message.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
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
    /// Null when there is none (it was fenced, or left).
    [[nodiscard]] const protocol::SlotInfo* find(SlotId slot) const;
    [[nodiscard]] const protocol::SlotInfo* find_peer(PeerId peer) const;

    /// In every standing.
    [[nodiscard]] const std::set<SlotId>& slots_of(StageIndex stage) const;
    /// Members in every standing but Observer, in slot order.
    [[nodiscard]] std::vector<SlotId> members(StageIndex stage) const;
    [[nodiscard]] bool has_member(StageIndex stage) const;
    /// Those to whom new work may be offered; who leaves only where nobody else is, as it can go at
    /// a commit alone.
    [[nodiscard]] std::vector<SlotId> pickable(StageIndex stage) const;
    [[nodiscard]] std::vector<SlotId> observers(StageIndex stage) const;
    [[nodiscard]] std::vector<SlotId> all_members() const;

    [[nodiscard]] std::size_t member_count() const { return slots_.size() - observers_; }

    [[nodiscard]] std::vector<std::uint32_t> peers_per_stage() const;

    [[nodiscard]] const std::map<SlotId, protocol::SlotInfo>& slots() const { return slots_; }

    [[nodiscard]] std::uint64_t number() const { return number_; }

    [[nodiscard]] protocol::Roster message() const;
    /// Takes over what the coordinator sent. Older numbers change nothing: false.
    bool replace(const protocol::Roster& message);

 private:
    using Slots = std::map<SlotId, protocol::SlotInfo>;

    void insert(protocol::SlotInfo info);
    Slots::iterator erase(Slots::iterator at);

    std::uint32_t stages_;
    std::uint64_t next_slot_;
    std::uint64_t number_ = 0;
    Slots slots_;
    std::size_t observers_ = 0;
    std::map<PeerId, SlotId> by_peer_;
    std::map<StageIndex, std::set<SlotId>> by_stage_;
};

}  // namespace swarm::run
