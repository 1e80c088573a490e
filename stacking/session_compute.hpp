// The compute of inference sessions: consecutive layers of one model on one device, with the KV
// pages of all sessions. Code that carries tokens between peers knows stages only by this class.
// Invariant: row i of a call is bit-equal to the same row computed alone, whatever the other rows
// of this call and of earlier calls are; so a batch, a prefill and a replay agree.
// Threading: one thread at a time. Shapes: R rows of a call, C width, V vocabulary.
// Non-finite numbers pass through and spoil their own session only; the reader of the output
// checks.
// Errors: Full (RetryElsewhere: ask another holder of the layers, or wait until a session ends),
// NotFound (Reject: no such cache), Mismatch and TooLarge (Reject: the call contradicts the cache
// or the model). After an error nothing was computed, and the caches are as before the call.
#pragma once

#include "swarm/base/ids.hpp"
#include "swarm/base/result.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <variant>
#include <vector>

namespace stacking {

/// Names the keys and values of one session at one stage. The caller chooses it and never uses it
/// twice.
using CacheId = swarm::Id<struct CacheTag>;

using TokenId = std::uint32_t;

/// Positions of a page, the unit in which caches share their beginnings.
inline constexpr std::uint32_t kSharedPositions = 64;

struct SessionRow {
    CacheId cache;
    /// Number of positions filled in that cache, earlier rows of the same call included.
    std::uint32_t position = 0;
};

struct StageShape {
    bool first = false;  // begins with layer 0
    bool last = false;   // ends with the model's last layer
    std::uint32_t width = 0;
    std::uint32_t vocabulary = 0;
    std::uint32_t context = 0;           // maximum positions of a session
    std::size_t bytes_per_position = 0;  // KV bytes, all layers of the stage
    bool takes_tokens = false;           // has the embedding: first stage, or last if tied
    bool gives_logits = false;           // has the head: last stage, first if tied, or by --exits
};

/// (R) token ids, or (R, C) fp32 rows that other layers gave.
using StageInput = std::variant<std::span<const TokenId>, std::span<const float>>;

class SessionCompute {
 public:
    SessionCompute() = default;
    SessionCompute(const SessionCompute&) = delete;
    SessionCompute& operator=(const SessionCompute&) = delete;
    virtual ~SessionCompute() = default;

    [[nodiscard]] virtual StageShape shape() const = 0;

    /// Reserves pages for `positions` positions in all, and makes the cache when it is new. A
    /// larger number than before adds pages; a smaller one changes nothing. Returns Full when the
    /// budget is spent; then nothing was reserved.
    [[nodiscard]] virtual swarm::Result<> reserve(CacheId cache, std::uint32_t positions) = 0;

    /// Forgets the positions from `positions` on; their pages stay reserved. Ignores unknown
    /// caches.
    virtual void truncate(CacheId cache, std::uint32_t positions) = 0;

    /// Frees the pages of the cache at once; those that it shares stay with the others. Ignores
    /// unknown caches.
    virtual void drop(CacheId cache) = 0;

    /// Forgets the positions from `positions` on, and frees the pages that hold no other. Ignores
    /// unknown caches.
    virtual void shrink(CacheId cache, std::uint32_t positions) = 0;

    /// Makes the new cache `to`, which begins with the first `positions` positions of `from` and
    /// shares their pages. REQUIRES: whole pages of kSharedPositions; nobody cuts either of the two
    /// below them while both exist. Returns NotFound or Mismatch when `from` has not so many.
    [[nodiscard]] virtual swarm::Result<> share(
        CacheId from, CacheId to, std::uint32_t positions
    ) = 0;

    /// Runs the rows through the layers only, at any place of a path, and returns (R, C) fp32. Rows
    /// may belong to different sessions (decode), to one (prefill), or to any mix.
    /// REQUIRES: takes_tokens, if the input is tokens.
    [[nodiscard]] virtual swarm::Result<std::vector<float>> run_layers(
        std::span<const SessionRow> rows, const StageInput& input
    ) = 0;

    /// Returns (W, V) logits for W rows that run_layers() gave. REQUIRES: gives_logits.
    [[nodiscard]] virtual std::vector<float> logits(std::span<const float> outputs) = 0;

    /// Runs the rows at the stage's own place in its model. Only the first stage takes tokens. The
    /// last stage returns (W, V) logits of the rows `wanted_logit_rows`, in that order; every other
    /// stage returns the result of run_layers(), and its `wanted_logit_rows` must be empty.
    [[nodiscard]] swarm::Result<std::vector<float>> forward(
        std::span<const SessionRow> rows,
        const StageInput& input,
        std::span<const std::uint32_t> wanted_logit_rows
    );
};

}  // namespace stacking
