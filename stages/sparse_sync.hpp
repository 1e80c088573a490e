// One synchronisation of a stage whose replicas have trained alone for some steps, as arithmetic
// over flat weights: what a replica sends of its pseudo-gradient, and what all of them make of it.
//   e <- 0.95 e + (shared - local);  share = code(e);  e <- e - decode(share)
//   shared <- shared - sum of n_r x decode(share_r) / sum of n_r
// n_r: the microbatches that replica r trained on since the last one; for equal ones that is the
// mean over all replicas (why: apply_shares).
// Invariant: IEEE operations on fp32 in a fixed order, so whoever applies the same shares in the
// same order has the same bits. What a replica's share lacks is in its e, but for fp32's rounding.
// Threading: no state. Errors, all Reject: NotFinite; Malformed, Mismatch (another layout). Cost:
// 8 bytes per weight while shares are applied; a pass per share, a selection per chunk.
// Source: SparseLoCo (arXiv 2508.15706), without its clip to the median norm.
#pragma once

#include "compression/codec.hpp"
#include "swarm/run/partition.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace stages {

using swarm::Result;

/// Of what a replica did not send, this much is still there when the next share is made.
inline constexpr float kErrorDecay = 0.95F;

struct SparseShare {
    std::vector<std::byte> bytes;    // of all tensors of the layout, one after the other
    std::uint64_t microbatches = 1;  // at most 2^24
};

/// How many bytes a share has.
std::uint64_t share_bytes(const swarm::run::StageLayout& layout, const compression::Codec& codec);

/// The coded part of a replica's buffer `error`, which keeps the rest. Flat vectors, as long as the
/// layout; `seed` for codecs that draw. After an error the buffer is void.
Result<std::vector<std::byte>> take_share(
    const swarm::run::StageLayout& layout,
    const compression::Codec& codec,
    std::span<const float> shared,
    std::span<const float> local,
    std::span<float> error,
    std::uint64_t seed
);

/// `shares`: at least one, in the order on which all replicas agree, with a microbatch in all of
/// them together. After an error `shared` is as before.
/// An element is divided by all replicas, as in the paper, not by those who sent it, as in its
/// authors' code: else the shared weights would move by a whole replica's change wherever one alone
/// sent it, and the more replicas there are, the less would what they apply, together with what is
/// still in their buffers, be the mean of what they changed.
Result<> apply_shares(
    const swarm::run::StageLayout& layout,
    const compression::Codec& codec,
    std::span<const SparseShare> shares,
    std::span<float> shared
);

}  // namespace stages
