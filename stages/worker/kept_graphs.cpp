#include "stages/worker/kept_graphs.hpp"

#include "swarm/base/try.hpp"

#include <iterator>

namespace stages {

void KeptGraphs::set_room(std::uint64_t bytes) {
    room_bytes_ = bytes;
    fit();
}

void KeptGraphs::add(
    GraphKey key, const std::optional<StageTensor>& input, const std::vector<std::uint32_t>& tokens
) {
    if (!room_bytes_) {
        return;
    }
    used(key);  // if this forward ran before, its graph has just been replaced
    const std::uint64_t order = next_order_++;
    forwards_.emplace(key, Forward{order, input, tokens});
    resident_.emplace(order, key);
    fit();
}

void KeptGraphs::fit() {
    while (!resident_.empty() && resident_.size() * compute_.graph_bytes() > *room_bytes_) {
        const auto newest = std::prev(resident_.end());
        compute_.drop(newest->second);
        resident_.erase(newest);
    }
}

Result<> KeptGraphs::restore(GraphKey key) {
    const auto found = forwards_.find(key);
    if (found == forwards_.end() || resident_.contains(found->second.order)) {
        return {};
    }
    const Forward& forward = found->second;
    const StageTensor* const input = forward.input ? &*forward.input : nullptr;
    SWARM_TRY(compute_.forward(key, input, forward.tokens, Graph::Keep));
    ++recomputed_;
    resident_.emplace(forward.order, key);  // it may exceed the room until its backward uses it up
    return {};
}

void KeptGraphs::used(GraphKey key) {
    if (const auto found = forwards_.find(key); found != forwards_.end()) {
        resident_.erase(found->second.order);
        forwards_.erase(found);
    }
}

void KeptGraphs::drop(GraphKey key) {
    used(key);
    compute_.drop(key);
}

void KeptGraphs::drop_all() {
    forwards_.clear();
    resident_.clear();
    compute_.drop_all();
}

}  // namespace stages
