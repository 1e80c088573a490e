// The loss of a reader on a text: the mean cross-entropy of the text's tokens, in nats.
// The text is read in consecutive windows of the requested length; each starts with an empty
// context. The first token of a window is read without a prediction.
// Threading: one thread. Errors: those of the reader; NotFinite (logits), TooLarge (a window longer
// than the context), Mismatch (a token outside the vocabulary, a text of less than two tokens); all
// Reject. Cost: one pass of the reader over the text.
#pragma once

#include "stacking/composition/text_reader.hpp"

namespace stacking::composition {

struct Loss {
    double nats_per_token = 0;
    std::uint64_t tokens = 0;  // predicted tokens
};

/// The loss of each predicted token, in nats, by window.
using WindowNats = std::vector<std::vector<double>>;

/// `window`: as for measure_loss().
swarm::Result<WindowNats> measure_tokens(
    TextReader& reader, std::span<const TokenId> tokens, std::uint32_t window
);

/// `window`: tokens per window, at least 2. A shorter rest at the end counts if it has 2 tokens.
swarm::Result<Loss> measure_loss(
    TextReader& reader, std::span<const TokenId> tokens, std::uint32_t window
);

}  // namespace stacking::composition
