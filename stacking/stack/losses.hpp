// How well a reader predicts a text: the mean cross-entropy of its tokens, in nats.
// The text is read in windows that begin anew, as long as asked for; the first token of each is
// given, not predicted. Threading: one thread. Errors: those of the reader; NotFinite, TooLarge (a
// window beyond the context), Mismatch (a token outside the vocabulary); Reject.
#pragma once

#include "stacking/stack/text_reader.hpp"

namespace stacking::stack {

struct Loss {
    double nats_per_token = 0;
    std::uint64_t tokens = 0;  // that were predicted
};

/// `window`: tokens of each, at least 2; what is left at the end is read if it has 2.
swarm::Result<Loss> measure_loss(
    TextReader& reader, std::span<const TokenId> tokens, std::uint32_t window
);

}  // namespace stacking::stack
