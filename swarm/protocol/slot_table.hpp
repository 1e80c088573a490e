// Who is in a run, by slot, by peer and by stage: what a ROSTER carries.
// Copies share their memory until one of them is changed, so a message costs a pointer for each
// peer that it goes to, and the thousand roles of a simulated run hold one table between them.
// Invariants: sorted by slot; one entry per slot, the last one that was given. One that was moved
// from can only be assigned to.
// Threading: as a shared_ptr; one strand may change a copy while others read theirs.
// Cost: O(log n) per look-up; a change O(n), and a copy of the table when it is shared.
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

/// What a peer is in the roster. An observer replays every commit but holds no ids; a draining
/// member gets no new launches; a suspect one is picked by nobody until it is heard again.
enum class Standing : std::uint8_t { Member, Suspect, Draining, Observer };

struct SlotInfo {
    SlotId slot;
    PeerId peer;
    Incarnation incarnation;
    StageIndex stage;
    Epoch admitted;
    Standing standing = Standing::Member;
    std::string address;  // host:port it listens on

    friend bool operator==(const SlotInfo&, const SlotInfo&) = default;
};

class SlotTable {
 public:
    SlotTable();
    /// In any order. Of a peer with two slots, find_peer() gives the newer one.
    // NOLINTNEXTLINE(google-explicit-constructor): a list of slots is what a table is
    SlotTable(std::vector<SlotInfo> slots);

    SlotTable(std::initializer_list<SlotInfo> slots) : SlotTable(std::vector<SlotInfo>(slots)) {}

    [[nodiscard]] std::vector<SlotInfo>::const_iterator begin() const;
    [[nodiscard]] std::vector<SlotInfo>::const_iterator end() const;
    [[nodiscard]] std::size_t size() const;

    [[nodiscard]] bool empty() const { return size() == 0; }

    /// Null when there is none. Good until the table changes.
    [[nodiscard]] const SlotInfo* find(SlotId slot) const;
    [[nodiscard]] const SlotInfo* find_peer(PeerId peer) const;
    /// In slot order, in every standing.
    [[nodiscard]] std::span<const SlotId> of_stage(StageIndex stage) const;
    [[nodiscard]] std::size_t observers() const;

    /// The table has neither the slot nor the peer.
    void add(SlotInfo info);
    /// The table has the slot.
    void remove(SlotId slot);
    void set_standing(SlotId slot, Standing standing);

    friend bool operator==(const SlotTable& left, const SlotTable& right);

 private:
    struct Index;

    [[nodiscard]] Index& own();

    std::shared_ptr<Index> index_;  // never changed while shared
};

}  // namespace swarm::protocol
