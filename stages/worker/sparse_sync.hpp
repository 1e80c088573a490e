// One exchange of a stage whose replicas have trained alone for some steps, as arithmetic over flat
// weights: what a replica sends of its pseudo-gradient, and what all replicas make of it.
//   e <- 0.95 e + (shared - local);  share = code(e);  e <- e - decode(share)
//   shared <- shared - sum of n_r x decode(share_r) / sum of n_r
// n_r is the number of microbatches that replica r trained on since the last exchange. Where all
// n_r are equal this is the mean over all replicas (apply_shares() says why it is over all).
// Invariant: IEEE operations on fp32 in a fixed order, so replicas that apply the same shares in
// the same order have the same bits. What a share lacks stays in e, but for fp32's rounding.
// Threading: no state. Errors, all Reject: NotFinite; Malformed, Mismatch (another layout). Cost: 8
// bytes per weight while shares are applied; one pass per share, one selection per chunk.
// Source: SparseLoCo (arXiv 2508.15706). Deviation: no clip to the median norm.
#pragma once

#include "compression/codec.hpp"
#include "swarm/run/partition.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace stages {

using swarm::Result;

/// The fraction of the unsent rest that is left when the next share is made.
inline constexpr float kErrorDecay = 0.95F;

struct SparseShare {
    std::vector<std::byte> bytes;    // codes of all tensors of the layout, one after the other
    std::uint64_t microbatches = 1;  // microbatches behind the share, at most 2^24
};

/// Bytes of one share.
std::uint64_t share_bytes(const swarm::run::StageLayout& layout, const compression::Codec& codec);

/// Returns the coded part of a replica's buffer `error`, which keeps the rest. All vectors are flat
/// and as long as the layout; `seed` is for codecs that draw random numbers. After an error the
/// buffer is void.
Result<std::vector<std::byte>> take_share(
    const swarm::run::StageLayout& layout,
    const compression::Codec& codec,
    std::span<const float> shared,
    std::span<const float> local,
    std::span<float> error,
    std::uint64_t seed
);

/// Applies `shares` to the weights `shared`. There is at least one share, they are in the order on
/// which all replicas agree, and together they have at least one microbatch. After an error
/// `shared` is as before.
/// An element is divided by the number of all replicas, as in the paper, not by the number of those
/// that sent it, as in its authors' code. With the latter an element that one replica alone sends
/// would move by that replica's whole change; and the more replicas there are, the further would
/// the applied changes and the buffers together be from the mean of all changes.
Result<> apply_shares(
    const swarm::run::StageLayout& layout,
    const compression::Codec& codec,
    std::span<const SparseShare> shares,
    std::span<float> shared
);

}  // namespace stages
