// Whom the members of a reduction wait for, by what each said last (STUCK), and whom to blame at
// the deadline. A member that waits for another keeps its own replicas waiting, so the blame goes
// to the end of such a chain: to a slot that others wait for and that itself waits for nobody. Of
// two that wait for each other the one for which fewer wait is to blame: it withholds its part from
// one member alone, which then has no values for anybody. A liar can still have an honest member
// fenced, by waiting for it.
// Threading: single strand. Bound: one entry per member. Cost: O(n^2 log n) for n members.
// Source: own; the step protocol's section 4 asks for a hint alone.
#pragma once

#include "swarm/base/ids.hpp"

#include <compare>
#include <functional>
#include <map>
#include <optional>
#include <set>

namespace swarm::coordinator {

class WaitGraph {
 public:
    using Is = std::function<bool(SlotId)>;

    /// The word of one member. `tied`: members of the stage with the other copy of a tied matrix.
    /// They count only between equals, because they wait for every slot that waits here.
    struct Said {
        std::set<SlotId> own;  // sets, so that whoever repeats a slot votes once
        std::set<SlotId> tied;
    };

    /// Takes what the member says in place of what it said before.
    void says(SlotId who, Said said);
    /// The member has its result and waits for nobody.
    void is_done(SlotId who) { said_.erase(who); }

    void clear();

    /// `is_member`: the slot is one still. `has_result`: the coordinator has a report of it.
    [[nodiscard]] std::optional<SlotId> blamed(const Is& is_member, const Is& has_result) const;

 private:
    struct Votes {
        int own = 0;
        int tied = 0;

        friend auto operator<=>(const Votes&, const Votes&) = default;
    };

    using VotesBySlot = std::map<SlotId, Votes>;

    [[nodiscard]] bool names(SlotId who, SlotId whom) const;
    /// True when the slot waits for somebody who has no result either.
    [[nodiscard]] bool is_excused(SlotId slot, const Is& is_member, const Is& has_result) const;
    [[nodiscard]] VotesBySlot count(const Is& is_member) const;
    /// True when the first is named by fewer; of equals, when it was named later. A peer that slept
    /// names others when it wakes.
    [[nodiscard]] bool is_named_less(SlotId one, SlotId other, const VotesBySlot& votes) const;

    std::map<SlotId, Said> said_;
    std::map<SlotId, std::size_t> first_named_;  // which slot was named first, second, ..
};

}  // namespace swarm::coordinator
