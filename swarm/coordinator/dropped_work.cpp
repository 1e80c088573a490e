#include "swarm/coordinator/dropped_work.hpp"

#include <algorithm>

namespace swarm::coordinator {

std::string skipped_too_often(std::uint64_t last_step, const std::string& reason) {
    return std::to_string(kSkipsInARowMax) + " steps in a row were skipped, the last one " +
           std::to_string(last_step) + " (" + reason +
           "): the model diverged (lower the learning rate, resume from an older checkpoint) or "
           "cannot compute these batches";
}

void DroppedWork::Drops::add(const std::set<SlotId>& others) {
    if (count++ == 0) {
        parties = others;
    }
    std::erase_if(parties, [&](SlotId slot) { return !others.contains(slot); });
}

DroppedWork::Finding DroppedWork::note(
    MicrobatchId id,
    Attempt attempt,
    const std::set<SlotId>& parties,
    const CanDoWithout& can_do_without
) {
    Drops& drops = of_one_[id];
    if (drops.count > 0 && drops.newest >= attempt) {
        return {};
    }
    drops.newest = attempt;
    drops.add(parties);
    of_step_.add(parties);
    const auto find = [&](const std::set<SlotId>& in) {
        const auto found = std::find_if(in.begin(), in.end(), can_do_without);
        return found == in.end() ? SlotId{} : *found;
    };
    const SlotId suspect = find(drops.parties);
    if (drops.count > 1 && suspect == SlotId{}) {
        return {Verdict::Skip, {}};
    }
    if (of_step_.count > kOfStepMax) {
        const SlotId in_all = find(of_step_.parties);
        return {in_all == SlotId{} ? Verdict::Skip : Verdict::Fence, in_all};
    }
    if (drops.count > kOfOneMax) {
        return {Verdict::Fence, suspect};
    }
    return {drops.count > 1 ? Verdict::TryWithout : Verdict::TryAgain, suspect};
}

}  // namespace swarm::coordinator
