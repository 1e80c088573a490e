#include "router/hop_turns.hpp"

#include <algorithm>

namespace router {

HopTurns::HopTurns(const LayerFlow& flow) {
    for (const HopLink& hop : flow.hops) {
        senders_[hop.from].turns.push_back({hop.to, hop.tokens_per_s, 0.5 / hop.tokens_per_s});
    }
}

std::optional<std::size_t> HopTurns::pick(std::size_t from, const Usable& usable) {
    const auto found = senders_.find(from);
    if (found == senders_.end()) {
        return std::nullopt;
    }
    Sender& sender = found->second;
    Turn* best = nullptr;
    for (Turn& turn : sender.turns) {
        if (turn.to != kClientHost && !usable(turn.to)) {
            continue;
        }
        turn.served = std::max(turn.served, sender.now);
        if (best == nullptr || turn.served < best->served) {
            best = &turn;
        }
    }
    if (best == nullptr) {
        return std::nullopt;
    }
    sender.now = best->served;
    best->served += 1 / best->tokens_per_s;
    return best->to;
}

}  // namespace router
