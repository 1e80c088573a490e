// The slots of a run, found by slot, by peer and by stage: the content of a Roster.
// Copies of a table share their memory until one of them is changed, so a message costs one pointer
// for each peer that it goes to, and the thousand roles of a simulated run share one table.
// Invariants: sorted by slot; one entry per slot, and of several given entries the last one counts.
// A table that was moved from can only be assigned to.
// Threading: that of a shared_ptr; one strand may change its copy while others read theirs.
// Cost: O(log n) per look-up; O(n) per change, and a copy of the table when it is shared.
#pragma once

#include "swarm/base/ids.hpp"

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace swarm::protocol {

/// A slot's standing in the roster. An observer replays every commit but holds no ids. A draining
/// member gets no new launches. Nobody picks a suspect member until the coordinator hears from it
/// again.
enum class Standing : std::uint8_t { Member, Suspect, Draining, Observer };

struct SlotInfo {
    SlotId slot;
    PeerId peer;
    Incarnation incarnation;
    StageIndex stage;
    Epoch admitted;
    Standing standing = Standing::Member;
    std::string address;  // host:port on which the peer listens

    friend bool operator==(const SlotInfo&, const SlotInfo&) = default;
};

class SlotTable {
 public:
    SlotTable();
    /// Takes slots in any order. find_peer() gives the newer slot of a peer that has two.
    // NOLINTNEXTLINE(google-explicit-constructor): a list of slots is what a table is
    SlotTable(std::vector<SlotInfo> slots);

    SlotTable(std::initializer_list<SlotInfo> slots) : SlotTable(std::vector<SlotInfo>(slots)) {}

    [[nodiscard]] std::vector<SlotInfo>::const_iterator begin() const;
    [[nodiscard]] std::vector<SlotInfo>::const_iterator end() const;
    [[nodiscard]] std::size_t size() const;

    [[nodiscard]] bool empty() const { return size() == 0; }

    /// find() and find_peer() return null when there is no such slot. The pointer is valid until
    /// the table changes.
    [[nodiscard]] const SlotInfo* find(SlotId slot) const;
    [[nodiscard]] const SlotInfo* find_peer(PeerId peer) const;
    /// Returns the stage's slots of every standing, in slot order.
    [[nodiscard]] std::span<const SlotId> of_stage(StageIndex stage) const;
    [[nodiscard]] std::size_t observers() const;

    /// Requires that the table has neither the slot nor the peer.
    void add(SlotInfo info);
    /// remove() and set_standing() require that the table has the slot.
    void remove(SlotId slot);
    void set_standing(SlotId slot, Standing standing);

    friend bool operator==(const SlotTable& left, const SlotTable& right);

 private:
    struct Index;

    [[nodiscard]] Index& own();

    std::shared_ptr<Index> index_;  // never changed while shared
};

}  // namespace swarm::protocol
