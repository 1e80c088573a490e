// What a reduction does with slices that hold a part of a matrix which another stage has, too.
#include "stages/reduction.hpp"

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

}  // namespace stages
