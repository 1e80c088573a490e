#include "swarm/coordinator/blame/wait_graph.hpp"

#include <algorithm>
#include <utility>

namespace swarm::coordinator {

using protocol::Owed;

void WaitGraph::says(SlotId who, Said said) {
    for (const SlotId slot : said.slots) {
        first_named_.try_emplace(slot, first_named_.size());
    }
    said_.insert_or_assign(who, std::move(said));
}

void WaitGraph::clear() {
    said_.clear();
    first_named_.clear();
}

bool WaitGraph::is_excused(SlotId slot, Owed owed, const Is& is_member, const Is& has_result)
    const {
    const auto found = said_.find(slot);
    if (found == said_.end()) {
        return false;
    }
    const Said& said = found->second;
    // Gradients come through one stage after the other, also through one that has its result.
    if (said.owed == Owed::Gradients) {
        return std::ranges::any_of(said.slots, is_member);
    }
    const auto delays = [&](SlotId other) { return is_member(other) && !has_result(other); };
    return said.owed < owed && !has_result(slot) && std::ranges::any_of(said.slots, delays);
}

std::optional<SlotId> WaitGraph::blamed(const Is& is_member, const Is& has_result) const {
    std::map<SlotId, int> votes;
    for (const auto& [who, said] : said_) {
        for (const SlotId slot : said.slots) {
            if (is_member(slot) && !is_excused(slot, said.owed, is_member, has_result)) {
                ++votes[slot];
            }
        }
    }
    const auto most = std::ranges::max_element(votes, [&](const auto& one, const auto& other) {
        // A peer that slept names others when it wakes, so the slot that was named later is less.
        return one.second != other.second
                   ? one.second < other.second
                   : first_named_.at(one.first) > first_named_.at(other.first);
    });
    return most == votes.end() ? std::nullopt : std::optional(most->first);
}

}  // namespace swarm::coordinator
