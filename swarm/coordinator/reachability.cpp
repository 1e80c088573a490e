#include "swarm/coordinator/reachability.hpp"

#include <algorithm>

namespace swarm::coordinator {

std::vector<PeerId> Reachability::note(PeerId from, std::vector<PeerId> named, TimePoint now) {
    if (named.empty()) {
        named_.erase(from);
        return {};
    }
    std::vector<PeerId> apart;
    for (const PeerId other : named) {
        const auto theirs = named_.find(other);
        if (theirs != named_.end() && std::ranges::count(theirs->second, from) > 0) {
            apart.push_back(other);
        }
    }
    named_[from] = std::move(named);
    if (!apart.empty()) {
        std::erase_if(pairs_, [&](const auto& entry) { return entry.second.until <= now; });
    }
    for (const PeerId other : apart) {
        const auto found = pairs_.find(pair_of(from, other));
        if (found != pairs_.end()) {
            found->second.until = now + kApartFor;
        } else if (pairs_.size() < kPairsMax) {
            pairs_.insert({pair_of(from, other), {now + kApartFor}});
        }
    }
    return apart;
}

bool Reachability::are_apart(PeerId one, PeerId other, TimePoint now) const {
    const auto found = pairs_.find(pair_of(one, other));
    return found != pairs_.end() && now < found->second.until;
}

bool Reachability::is_untold(PeerId one, PeerId other) {
    const auto found = pairs_.find(pair_of(one, other));
    return found != pairs_.end() && !std::exchange(found->second.is_told, true);
}

void Reachability::forget(PeerId peer) {
    named_.erase(peer);
    std::erase_if(pairs_, [&](const auto& entry) {
        return entry.first.first == peer || entry.first.second == peer;
    });
}

}  // namespace swarm::coordinator
