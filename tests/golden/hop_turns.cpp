#include "tests/golden/hop_turns.hpp"

#include <algorithm>

namespace sim::golden {

HopTurns::HopTurns(const router::LayerFlow& flow) {
    for (const router::HopLink& hop : flow.hops) {
        senders_[hop.from].links.push_back({hop.to, hop.tokens_per_s, 0.5 / hop.tokens_per_s});
    }
}

std::optional<std::size_t> HopTurns::pick(std::size_t from, const Usable& usable) {
    const auto found = senders_.find(from);
    if (found == senders_.end()) {
        return std::nullopt;
    }
    Sender& sender = found->second;
    Link* best = nullptr;
    for (Link& link : sender.links) {
        if (link.to != router::kClientHost && !usable(link.to)) {
            continue;
        }
        link.served = std::max(link.served, sender.now);
        if (best == nullptr || link.served < best->served) {
            best = &link;
        }
    }
    if (best == nullptr) {
        return std::nullopt;
    }
    sender.now = best->served;
    best->served += 1 / best->tokens_per_s;
    return best->to;
}

}  // namespace sim::golden
