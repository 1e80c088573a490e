#include "swarm/coordinator/dropped_work.hpp"

#include <algorithm>

namespace swarm::coordinator {

std::string skipped_too_often(std::uint64_t last_step, const std::string& reason) {
    return std::to_string(kSkipsInARowMax) + " steps in a row were skipped, the last one " +
           std::to_string(last_step) + " (" + reason +
           "): the model diverged (lower the learning rate, resume from an older checkpoint) or "
           "cannot compute these batches";
}

void DroppedWork::Drops::add(const Drop& drop) {
    if (count++ == 0) {
        parties = {drop.by, drop.sent_by};
    }
    std::erase_if(parties, [&](SlotId slot) { return slot != drop.by && slot != drop.sent_by; });
}

DroppedWork::Finding DroppedWork::note(
    MicrobatchId id, Attempt attempt, const Drop& drop, const Stages& stages
) {
    Drops& drops = of_one_[id];
    if (drops.count > 0 && drops.newest >= attempt) {
        return {};
    }
    drops.newest = attempt;
    drops.add(drop);
    of_step_.add(drop);
    ++dropped_by_[drop.by];
    droppers_.insert(drop.by);
    senders_.insert(drop.sent_by);
    const auto find = [&](const std::set<SlotId>& in) {
        const auto found = std::find_if(in.begin(), in.end(), stages.can_do_without);
        return found == in.end() ? SlotId{} : *found;
    };
    const SlotId suspect = find(drops.parties);
    if (drops.count > 1 && suspect == SlotId{}) {
        return judge_by_many(drop, stages);
    }
    if (of_step_.count > kOfStepMax) {
        const SlotId in_all = find(of_step_.parties);
        return in_all == SlotId{} ? judge_by_many(drop, stages) : Finding{Verdict::Fence, in_all};
    }
    if (drops.count > kOfOneMax) {
        return {Verdict::Fence, suspect};
    }
    return {drops.count > 1 ? Verdict::TryWithout : Verdict::TryAgain, suspect};
}

DroppedWork::Finding DroppedWork::judge_by_many(const Drop& drop, const Stages& stages) const {
    const bool by_one = drop.by == drop.sent_by;
    if (stages.has_most_of_one(droppers_) && (by_one || stages.has_most_of_one(senders_))) {
        return {Verdict::Skip, {}};
    }
    // A few of a stage may have agreed on a lie; most of it must find the same.
    if (dropped_by_.at(drop.by) > kOfOneMax && stages.can_do_without(drop.by)) {
        return {Verdict::Fence, drop.by};
    }
    for (const SlotId slot : {drop.by, drop.sent_by}) {
        if (stages.can_do_without(slot)) {
            return {Verdict::TryWithout, slot};
        }
    }
    return {Verdict::Skip, {}};
}

}  // namespace swarm::coordinator
