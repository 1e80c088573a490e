#include "router/iwrr.hpp"

#include <algorithm>

namespace router {

void Iwrr::add(SlotId slot, TimePoint /*now*/) {
    const auto [found, added] = peers_.try_emplace(slot);
    if (added) {
        found->second.slot = slot;
        found->second.order = own_order(seed_, slot);
        push(found->second);
    }
}

void Iwrr::remove(SlotId slot) {
    const auto found = peers_.find(slot);
    if (found != peers_.end()) {
        take_out(found->second);
        mean_.replace(found->second.units_per_s, 0);
        peers_.erase(found);
    }
}

void Iwrr::set_open(SlotId slot, bool open, TimePoint /*now*/) {
    const auto found = peers_.find(slot);
    if (found == peers_.end()) {
        return;
    }
    if (open) {
        push(found->second);
    } else {
        take_out(found->second);
    }
}

std::optional<SlotId> Iwrr::pick(const Request& request, TimePoint /*now*/) {
    if (heap_.empty()) {
        return std::nullopt;
    }
    Entry& top = heap_.front();
    Peer& peer = *top.peer;
    lowest_ = std::max(lowest_, peer.priority);
    peer.priority += seconds(peer, request);
    top.priority = peer.priority;
    sift_down(0);
    return peer.slot;
}

void Iwrr::undo(SlotId slot, const Request& request, TimePoint /*now*/) {
    const auto found = peers_.find(slot);
    if (found == peers_.end()) {
        return;
    }
    Peer& peer = found->second;
    peer.priority -= seconds(peer, request);
    if (peer.at != kClosed) {
        heap_[peer.at].priority = peer.priority;
        sift_up(peer.at);
    }
}

void Iwrr::rate_changed(SlotId slot, double units_per_s, TimePoint /*now*/) {
    const auto found = peers_.find(slot);
    if (found == peers_.end() || !(units_per_s > 0)) {
        return;
    }
    if (!guess_) {
        rescale(1 / units_per_s);  // until this first measurement one unit counted as one second
    }
    mean_.replace(found->second.units_per_s, units_per_s);
    found->second.units_per_s = units_per_s;
    guess_ = mean_.value();
}

bool Iwrr::before(const Entry& a, const Entry& b) {
    return a.priority < b.priority || (a.priority == b.priority && a.peer->order < b.peer->order);
}

double Iwrr::seconds(const Peer& peer, const Request& request) const {
    const double unmeasured = mean_.known() ? mean_.value() : guess_.value_or(1.0);
    return request.work_units / (peer.units_per_s > 0 ? peer.units_per_s : unmeasured);
}

void Iwrr::rescale(double factor) {
    lowest_ *= factor;
    for (auto& [slot, peer] : peers_) {
        peer.priority *= factor;
    }
    for (std::size_t at = heap_.size(); at-- > 0;) {  // rounding may have made two priorities equal
        heap_[at].priority = heap_[at].peer->priority;
        sift_down(at);
    }
}

void Iwrr::push(Peer& peer) {
    if (peer.at != kClosed) {
        return;
    }
    const double lowest = heap_.empty() ? lowest_ : heap_.front().priority;
    peer.priority = std::max(peer.priority, lowest);
    heap_.push_back({peer.priority, &peer});
    sift_up(heap_.size() - 1);
}

void Iwrr::take_out(Peer& peer) {
    if (peer.at == kClosed) {
        return;
    }
    const std::size_t hole = peer.at;
    const Entry last = heap_.back();
    heap_.pop_back();
    peer.at = kClosed;
    if (last.peer != &peer) {
        place(hole, last);
        sift_up(hole);
        sift_down(last.peer->at);
    }
}

void Iwrr::place(std::size_t at, const Entry& entry) {
    heap_[at] = entry;
    entry.peer->at = at;
}

void Iwrr::sift_up(std::size_t at) {
    const Entry moving = heap_[at];
    while (at > 0) {
        const std::size_t parent = (at - 1) / 2;
        if (!before(moving, heap_[parent])) {
            break;
        }
        place(at, heap_[parent]);
        at = parent;
    }
    place(at, moving);
}

void Iwrr::sift_down(std::size_t at) {
    const Entry moving = heap_[at];
    for (;;) {
        std::size_t child = 2 * at + 1;
        if (child >= heap_.size()) {
            break;
        }
        if (child + 1 < heap_.size() && before(heap_[child + 1], heap_[child])) {
            ++child;
        }
        if (!before(heap_[child], moving)) {
            break;
        }
        place(at, heap_[child]);
        at = child;
    }
    place(at, moving);
}

}  // namespace router
