// Targets for the states that a member of a chain hands on: its states, moved a little to where the
// next member predicts the text better. The gradient of that member's loss by its input says where:
//   v_t <- v_t - step |h_t| g_t / |g_t|   for each row t, `rounds` times, beginning with v = h.
// The leak: a gradient of the loss on the text's own tokens knows each next token, so targets made
// by it encode the answer, which the first member cannot know. With `labels` the loss is that on
// tokens drawn from the model's own predictions, so a target holds what these say on the average
// and nothing of the answer.
// Threading: one thread, that of the StageCompute. Errors: those of forward_tail(). Cost: a forward
// and a backward of the member per round, and a forward.
// Source: model stacking (S. Mueller, 2025), asynchronous alignment. Deviations: one small step and
// not many large ones; each row has a length of its own; drawn labels.
#pragma once

#include "stacking/composition/alignment/state_shard.hpp"
#include "stages/compute/compute.hpp"
#include "swarm/base/result.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace stacking::composition {

struct MoveSettings {
    double step = 0.05;  // length of a move, in lengths of the row
    std::uint32_t rounds = 1;
};

struct MovedStates {
    std::vector<float> rows;  // (B, T, C)
    double before = 0;        // loss on the text's tokens, in nats
    double after = 0;         // the same with the moved rows
};

/// `member`: the layers and the head of the next member, without its embedding, for batches of
/// (B, T + 1). `tokens`: the text's (B, T + 1). `labels`: the same shape; the first of each
/// sequence does not count. `parameters`: size of the member's gradient.
swarm::Result<MovedStates> move_states(
    stages::StageCompute& member,
    std::size_t parameters,
    const StateShard& batch,
    std::span<const TokenId> labels,
    const MoveSettings& settings
);

/// Draws a token by the logits of a row. `unit`: a number in [0, 1). REQUIRES: logits are finite.
TokenId draw_token(std::span<const float> logits, double unit);

/// Part of a shard: `count` sequences from `first` on.
StateShard sequences_of(const StateShard& shard, std::uint32_t first, std::uint32_t count);

}  // namespace stacking::composition
