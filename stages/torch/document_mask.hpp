// The attention mask of rows in which documents stand one behind the other: a position sees itself
// and what comes before it in its own document.
// Invariant: a function of the tokens, so each stage makes the same one from the tokens that came
// with its microbatch, and nothing more travels. Rotary positions count on through a row: attention
// depends on their differences alone.
// Threading: pure function. Shapes: ids (B, T) int64; mask (B, 1, T, T) fp32, 0 where a position
// sees and minus infinity elsewhere, on the device of the ids.
// Cost: 4 B T^2 bytes per microbatch, which a kept graph holds once for all layers of a stage, and
// about three times as much while it is made; attention reads it once per layer and way. Source:
// own.
#pragma once

#include <ATen/core/Tensor.h>
#include <cstdint>

namespace stages::torch_backend {

/// A position after a token `end` begins a new document; the end token belongs to the one before.
at::Tensor document_mask(const at::Tensor& ids, std::int64_t end);

}  // namespace stages::torch_backend
