// `--codec auto` of a session: in what rows go over one link, as the hop that sends them finds it.
// Of none, bf16 and int8 the least lossy one with which neither a prompt's rows nor a single
// token's are slower than with the fastest by more than compression::kSlowerAtMost, this hop's own
// computing counted in; the rest of the path takes time, too, so the text as a whole loses less.
// int8 where the link has not been measured: a slow line must not wait for four times the bytes.
// That has a price: greedy text with int8 rows is soon another one, with bf16 it has not been
// (README). fp16 has no place here: bf16's bytes, and it clamps what bf16 still has.
// Invariant: a function of its input. Threading: any. Cost: O(1).
// Source: as swarm/run/codec_choice.hpp, which chooses for training by the time of a whole step.
#pragma once

#include "stacking/row_coding.hpp"

namespace stacking {

struct RowLink {
    double bytes_per_s = 0;              // 0: not measured lately
    std::size_t width = 0;               // C
    swarm::protocol::RowRates device{};  // of the hop that sends; 0: as if it took no time
};

compression::CodecId choose_row_codec(const RowLink& link);

}  // namespace stacking
