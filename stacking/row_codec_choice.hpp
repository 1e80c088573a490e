// The choice of `--codec auto` for one link of a session, made by the hop that sends the rows.
// Candidates: none, bf16, int8. The least lossy one is taken with which neither the rows of a
// prompt nor the row of a single token take longer than with the fastest candidate by more than
// compression::kSlowerAtMost. The computing of this hop counts; the rest of the path takes time,
// too, so the text as a whole loses less. An unmeasured link gets int8, because a slow line must
// not wait for four times the bytes. The price: greedy text with int8 rows soon differs; with bf16
// it has not differed so far (README). fp16 is left out: it takes the bytes of bf16 and clamps
// values that bf16 still has.
// Invariant: the choice is a function of its input. Threading: any. Cost: O(1).
// Source: the same rule as swarm/run/codec_choice.hpp, which chooses for training by the time of a
// whole step.
#pragma once

#include "stacking/row_coding.hpp"

namespace stacking {

struct RowLink {
    double bytes_per_s = 0;              // rate of the line; 0: not measured lately
    std::size_t width = 0;               // C
    swarm::protocol::RowRates device{};  // sending hop's device; 0: counts as taking no time
};

compression::CodecId choose_row_codec(const RowLink& link);

}  // namespace stacking
