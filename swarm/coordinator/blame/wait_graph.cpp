#include "swarm/coordinator/blame/wait_graph.hpp"

#include <algorithm>
#include <utility>

namespace swarm::coordinator {

void WaitGraph::says(SlotId who, Said said) {
    for (const auto* const slots : {&said.own, &said.tied}) {
        for (const SlotId slot : *slots) {
            first_named_.try_emplace(slot, first_named_.size());
        }
    }
    said_.insert_or_assign(who, std::move(said));
}

void WaitGraph::clear() {
    said_.clear();
    first_named_.clear();
}

bool WaitGraph::names(SlotId who, SlotId whom) const {
    const auto found = said_.find(who);
    return found != said_.end() &&
           (found->second.own.contains(whom) || found->second.tied.contains(whom));
}

bool WaitGraph::is_excused(SlotId slot, const Is& is_member, const Is& has_result) const {
    const auto found = said_.find(slot);
    if (found == said_.end() || has_result(slot)) {
        return false;
    }
    const auto delays = [&](SlotId other) { return is_member(other) && !has_result(other); };
    return std::ranges::any_of(found->second.own, delays) ||
           std::ranges::any_of(found->second.tied, delays);
}

WaitGraph::VotesBySlot WaitGraph::count(const Is& is_member) const {
    VotesBySlot votes;
    for (const auto& [who, said] : said_) {
        for (const SlotId slot : said.own) {
            votes[slot].own += is_member(slot) ? 1 : 0;
        }
        for (const SlotId slot : said.tied) {
            votes[slot].tied += is_member(slot) ? 1 : 0;
        }
    }
    std::erase_if(votes, [&](const auto& each) { return !is_member(each.first); });
    return votes;
}

bool WaitGraph::is_named_less(SlotId one, SlotId other, const VotesBySlot& votes) const {
    const Votes a = votes.at(one);
    const Votes b = votes.at(other);
    return a != b ? a < b : first_named_.at(one) > first_named_.at(other);
}

std::optional<SlotId> WaitGraph::blamed(const Is& is_member, const Is& has_result) const {
    const VotesBySlot votes = count(is_member);
    std::optional<SlotId> in_vain;  // most wait for it, and it waits for nobody
    std::optional<SlotId> one_of_two;
    std::optional<SlotId> most_named;
    const auto prefer = [&](std::optional<SlotId>& best, SlotId slot) {
        if (!best || is_named_less(*best, slot, votes)) {
            best = slot;
        }
    };
    for (const auto& [slot, found] : votes) {
        prefer(most_named, slot);
        if (!is_excused(slot, is_member, has_result)) {
            prefer(in_vain, slot);
        }
        for (const auto& [other, of_other] : votes) {
            const bool mutual = names(slot, other) && names(other, slot);
            const bool equal = found == of_other;
            const bool first = first_named_.at(slot) < first_named_.at(other);
            if (mutual && (equal ? first : found < of_other)) {
                prefer(one_of_two, slot);
            }
        }
    }
    return in_vain ? in_vain : one_of_two ? one_of_two : most_named;
}

}  // namespace swarm::coordinator
