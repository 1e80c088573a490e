// Whom the members of a reduction wait for, by what each said last (STUCK), and whom to blame at
// the deadline. Whoever lacks gradients owes sums, and whoever lacks sums owes values, so a member
// is excused for what it cannot have yet. The blame goes to the slot that owes most members what it
// should have; of equals to the one that was named first. A liar can still have an honest member
// fenced, by waiting for it.
// Threading: single strand. Bound: one entry per member. Cost: O(n^2 log n) for n members.
// Source: own; the step protocol's section 4 asks for a hint alone.
#pragma once

#include "swarm/base/ids.hpp"
#include "swarm/protocol/run_messages.hpp"

#include <functional>
#include <map>
#include <optional>
#include <set>

namespace swarm::coordinator {

class WaitGraph {
 public:
    using Is = std::function<bool(SlotId)>;

    /// The word of one member. A set, so that whoever repeats a slot votes once.
    struct Said {
        protocol::Owed owed = protocol::Owed::Gradients;
        std::set<SlotId> slots{};
    };

    /// Takes what the member says in place of what it said before.
    void says(SlotId who, Said said);

    /// The member has its result: what it said until now counts no more.
    void is_done(SlotId who) { said_.erase(who); }

    void clear();

    /// `is_member`: the slot is one still. `has_result`: the coordinator has a report of it.
    [[nodiscard]] std::optional<SlotId> blamed(const Is& is_member, const Is& has_result) const;

 private:
    /// True when the slot waits itself for what it needs before it has `owed`.
    [[nodiscard]] bool is_excused(
        SlotId slot, protocol::Owed owed, const Is& is_member, const Is& has_result
    ) const;

    std::map<SlotId, Said> said_;
    std::map<SlotId, std::size_t> first_named_;  // which slot was named first, second, ..
};

}  // namespace swarm::coordinator
