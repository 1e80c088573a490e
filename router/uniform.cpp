#include "router/uniform.hpp"

#include <algorithm>

namespace router {

Uniform::Uniform(std::uint64_t seed) : rng_(seed, 0) {}

void Uniform::add(SlotId slot, TimePoint now) {
    if (known_.insert(slot).second) {
        set_open(slot, true, now);
    }
}

void Uniform::remove(SlotId slot) {
    set_open(slot, false, {});
    known_.erase(slot);
}

void Uniform::set_open(SlotId slot, bool open, TimePoint /*now*/) {
    const auto place = std::lower_bound(open_.begin(), open_.end(), slot);
    const bool was_open = place != open_.end() && *place == slot;
    if (open && !was_open && known_.contains(slot)) {
        open_.insert(place, slot);
    } else if (!open && was_open) {
        open_.erase(place);
    }
}

std::optional<SlotId> Uniform::pick(const Request& /*request*/, TimePoint /*now*/) {
    if (open_.empty()) {
        return std::nullopt;
    }
    return open_[rng_.below(open_.size())];
}

}  // namespace router
