// The part of Reduction for own slices, from the last part to the values that are sent. A slice
// with weights of a tied matrix first swaps its sums with the other stage.
#include "stages/server/reduction.hpp"

#include <algorithm>
#include <utility>

namespace stages {

void Reduction::slice_summed(std::uint32_t slice, node::Turn turn) {
    if (tied_.cuts(slices_.piece(slice)).empty()) {
        finish_slice(slice, turn);
    } else {
        make_tied_parts(slice, turn);
    }
}

void Reduction::make_tied_parts(std::uint32_t slice, node::Turn turn) {
    struct Outcome {
        RefusedParts refused;
        std::vector<node::Payload> parts;
    };

    const std::uint32_t piece = slices_.piece(slice);
    context_.device.submit_for<Outcome>(
        turn,
        0,
        [worker = context_.worker, refused = refused_, slice, cuts = tied_.cuts(piece)](
            Outcome& outcome
        ) {
            outcome.refused = take_refused(*refused, slice);
            for (std::size_t i = 0; outcome.refused.empty() && i < cuts.size(); ++i) {
                outcome.parts.push_back(worker->tied_part(cuts[i].range));
            }
        },
        [this, piece, mine = generation_](Outcome& outcome, node::Turn later) {
            if (!is_current(mine)) {
                return;
            }
            if (!outcome.refused.empty()) {
                parts_refused(outcome.refused, later);
                return;
            }
            tied_.made(piece, std::move(outcome.parts), later);
            add_tied(piece, later);
        }
    );
}

void Reduction::take_tied(
    PeerId from, const protocol::Part& part, node::Payload values, node::Turn turn
) {
    const auto cut = tied_.find(from, part);
    if (!cut || !has_size(values, cut->range.size(), protocol::Dtype::Int64) ||
        !tied_.take(*cut, std::move(values))) {
        return;
    }
    stuck_at_ = turn.now + kStuckAfter;
    add_tied(slices_.piece(cut->own), turn);
}

void Reduction::add_tied(std::uint32_t piece, node::Turn turn) {
    for (auto& [cut, sums] : tied_.take_addable(piece)) {
        context_.device.submit(
            turn,
            0,
            [worker = context_.worker, refused = refused_, cut = cut, sums = std::move(sums)] {
                if (worker->add_tied_part(cut.range, sums).has_error()) {
                    refused->push_back({cut.own, 0, cut});
                }
            }
        );
    }
    if (tied_.is_complete(piece)) {
        finish_slice(slices_.slice(own_, piece), turn);
    }
}

void Reduction::finish_slice(std::uint32_t slice, node::Turn turn) {
    struct Outcome {
        RefusedParts refused;
        node::Payload values;
    };

    context_.device.submit_for<Outcome>(
        turn,
        0,
        [worker = context_.worker,
         refused = refused_,
         slice,
         bug = context_.bugs.result_in_accumulator](Outcome& outcome) {
            outcome.refused = take_refused(*refused, slice);
            if (!outcome.refused.empty()) {
                return;
            }
            outcome.values = worker->finish_slice(slice);
            if (bug) {
                worker->clear_accumulator();
            }
        },
        [this, slice, mine = generation_](Outcome& outcome, node::Turn later) {
            if (!is_current(mine)) {
                return;
            }
            if (!outcome.refused.empty()) {
                parts_refused(outcome.refused, later);
                return;
            }
            own_values_[slices_.piece(slice)] = std::move(outcome.values);
            send_values(slice, later);
            slice_arrived(slice, later);
        }
    );
}

void Reduction::send_values(std::uint32_t slice, node::Turn turn) {
    for (const PeerId peer : peers_) {
        send_gathered(slice, peer, turn);
    }
    for (const SlotId slot : observers_) {
        if (const auto* info = context_.roster.find(slot)) {
            send_gathered(slice, info->peer, turn);
        }
    }
}

void Reduction::send_gathered(std::uint32_t slice, PeerId to, node::Turn turn) {
    if (to != context_.self) {
        const protocol::Part part{*context_.version, epoch_, slice, true};
        ServerContext::send(to, part, *own_values_[slices_.piece(slice)], turn);
    }
}

Reduction::RefusedParts Reduction::take_refused(RefusedParts& all, std::uint32_t slice) {
    const auto of_slice = std::stable_partition(all.begin(), all.end(), [&](const auto& part) {
        return part.slice != slice;
    });
    RefusedParts taken(of_slice, all.end());
    all.erase(of_slice, all.end());
    return taken;
}

void Reduction::parts_refused(std::span<const RefusedPart> parts, node::Turn turn) {
    for (const RefusedPart& part : parts) {
        if (part.tied) {
            tied_.refuse(*part.tied);
        } else {
            added_[slices_.piece(part.slice)].remove(part.member);
        }
    }
    stuck_at_ = turn.now + kStuckAfter;  // STUCK then names the senders of these parts
}

}  // namespace stages
