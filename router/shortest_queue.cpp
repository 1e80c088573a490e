#include "router/shortest_queue.hpp"

namespace router {

void ShortestQueue::add(SlotId slot, TimePoint /*now*/) {
    const auto [found, added] = peers_.try_emplace(slot);
    if (added) {
        found->second.key.slot = slot;
        found->second.key.order = own_order(seed_, slot);
        open_.insert(found->second.key);
    }
}

void ShortestQueue::remove(SlotId slot) {
    if (const auto found = peers_.find(slot); found != peers_.end()) {
        open_.erase(found->second.key);
        peers_.erase(found);
    }
}

void ShortestQueue::set_open(SlotId slot, bool open, TimePoint /*now*/) {
    const auto found = peers_.find(slot);
    if (found == peers_.end() || found->second.open == open) {
        return;
    }
    found->second.open = open;
    if (open) {
        open_.insert(found->second.key);
    } else {
        open_.erase(found->second.key);
    }
}

std::optional<SlotId> ShortestQueue::pick(const Request& /*request*/, TimePoint /*now*/) {
    if (open_.empty()) {
        return std::nullopt;
    }
    const Key best = *open_.begin();
    replace(peers_.at(best.slot), {best.in_flight + 1, ++picks_, best.order, best.slot});
    return best.slot;
}

void ShortestQueue::one_less(SlotId slot) {
    const auto found = peers_.find(slot);
    if (found != peers_.end() && found->second.key.in_flight > 0) {
        Key key = found->second.key;
        --key.in_flight;
        replace(found->second, key);
    }
}

void ShortestQueue::replace(Peer& peer, const Key& key) {
    if (auto node = open_.extract(peer.key)) {  // the node goes back in without an allocation
        node.value() = key;
        open_.insert(std::move(node));
    }
    peer.key = key;
}

}  // namespace router
