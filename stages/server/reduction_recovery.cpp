// The part of Reduction for trouble: repeats what a link may have lost, and says whom it waits for.
#include "stages/server/reduction.hpp"

#include <algorithm>
#include <utility>

namespace stages {

void Reduction::resend(PeerId peer, node::Turn turn) {
    const auto index = member_index(peer);
    if (!active_ || !sealed_) {
        return;
    }
    if (index && *index != own_) {
        const std::uint32_t sent = exchanged_[*index].sent;
        for (std::uint32_t piece = sent - std::min(sent, kUnderWayMax); piece < sent; ++piece) {
            send_scatter({slices_.slice(*index, piece)}, turn);
        }
    }
    tied_.resend(peer, turn);
    const auto* const info = context_.roster.find_peer(peer);
    const bool observes =
        info && std::find(observers_.begin(), observers_.end(), info->slot) != observers_.end();
    if (index || observes) {
        resend_values(peer, index, turn);
    }
}

// A member that sent its part of a piece has the values of the kUnderWayMax-th piece before it.
void Reduction::resend_values(PeerId peer, std::optional<std::uint32_t> member, node::Turn turn) {
    for (std::uint32_t piece = 0; piece < own_values_.size(); ++piece) {
        const std::uint32_t evidence = piece + kUnderWayMax;
        const bool has_it = member && evidence < added_.size() && added_[evidence].has(*member);
        if (own_values_[piece] && !has_it) {
            send_gathered(slices_.slice(own_, piece), peer, turn);
        }
    }
}

std::vector<SlotId> Reduction::who_owe_sums() const {
    std::vector<SlotId> slots;
    for (std::uint32_t piece = 0; piece < slices_.pieces() && slots.empty(); ++piece) {
        for (std::uint32_t member = 0; member < slices_.members(); ++member) {
            if (member != own_ && !added_[piece].has(member)) {
                slots.push_back(group_[member]);
            }
        }
    }
    return slots;
}

std::vector<SlotId> Reduction::who_owe_values() const {
    std::vector<SlotId> slots;
    for (std::uint32_t member = 0; member < slices_.members(); ++member) {
        for (std::uint32_t piece = 0; member != own_ && piece < slices_.pieces(); ++piece) {
            if (!arrived_.has(slices_.slice(member, piece))) {
                slots.push_back(group_[member]);
                break;
            }
        }
    }
    return slots;
}

// A member names only who owes what it needs first: without gradients it owes sums, also those of a
// stage below, to which it has to pass them down, and without sums it owes values.
void Reduction::wake(node::Turn turn) {
    if (stuck_at_ > turn.now) {
        return;
    }
    stuck_at_ = turn.now + kStuckAfter;
    protocol::Stuck stuck{*context_.version, epoch_, {}, protocol::Owed::Gradients};
    if (who_owes_gradients_) {
        stuck.waits_for = who_owes_gradients_();
    }
    if (sealed_ && stuck.waits_for.empty()) {
        stuck.owed = protocol::Owed::Sums;
        stuck.waits_for = who_owe_sums();
    }
    if (sealed_ && stuck.waits_for.empty()) {
        stuck.owed = protocol::Owed::TiedSums;
        stuck.waits_for = tied_.awaited();
    }
    if (sealed_ && stuck.waits_for.empty()) {
        stuck.owed = protocol::Owed::Values;
        stuck.waits_for = who_owe_values();
    }
    // A word that names nobody only takes an earlier one back.
    const bool waits = !stuck.waits_for.empty();
    if (std::exchange(said_stuck_, waits) || waits) {
        context_.tell_coordinator(std::move(stuck), turn);
    }
}

}  // namespace stages
