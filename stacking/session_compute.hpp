// The compute of inference sessions: consecutive layers of one model on one device, with the KV
// pages of all sessions. What carries tokens between peers knows stages only through this.
// Invariant: row i of a call is bit-equal to the same row computed alone, whatever the other rows
// are, and whatever was in one call with it before; so a batch, a prefill and a replay agree.
// Threading: one thread at a time. Shapes: R rows of a call, C width, V vocabulary.
// Non-finite numbers pass through and spoil their own session alone: who reads the output checks.
// Errors: Full (RetryElsewhere: another holder of the layers; or wait until a session ends),
// NotFound (Reject: no such cache), Mismatch and TooLarge (Reject: the call contradicts the cache
// or the model; nothing was computed). After an error the caches are as before the call.
#pragma once

#include "swarm/base/ids.hpp"
#include "swarm/base/result.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <variant>
#include <vector>

namespace stacking {

/// The keys and values of one session at one stage. Chosen by the caller; never used twice.
using CacheId = swarm::Id<struct CacheTag>;

using TokenId = std::uint32_t;

struct SessionRow {
    CacheId cache;
    /// How many positions are filled in that cache, earlier rows of the same call included.
    std::uint32_t position = 0;
};

struct StageShape {
    bool first = false;  // its place in the model
    bool last = false;
    std::uint32_t width = 0;
    std::uint32_t vocabulary = 0;
    std::uint32_t context = 0;           // positions that a session can have at most
    std::size_t bytes_per_position = 0;  // of KV, all layers of the stage
    bool takes_tokens = false;           // it holds the embedding: the first one does,
    bool gives_logits = false;           // or the head: the last one does; with tied ones, both
};

/// (R) token ids, or (R, C) fp32 that other layers gave.
using StageInput = std::variant<std::span<const TokenId>, std::span<const float>>;

class SessionCompute {
 public:
    SessionCompute() = default;
    SessionCompute(const SessionCompute&) = delete;
    SessionCompute& operator=(const SessionCompute&) = delete;
    virtual ~SessionCompute() = default;

    [[nodiscard]] virtual StageShape shape() const = 0;

    /// Pages for so many positions in all; makes the cache when it is new. More than is there is
    /// added, less changes nothing. Full when the budget is spent, and then nothing was reserved.
    [[nodiscard]] virtual swarm::Result<> reserve(CacheId cache, std::uint32_t positions) = 0;

    /// Forgets what is filled from there on; its pages stay reserved. Unknown caches are ignored.
    virtual void truncate(CacheId cache, std::uint32_t positions) = 0;

    /// Frees its pages at once. Unknown caches are ignored.
    virtual void drop(CacheId cache) = 0;

    /// Through the layers and no further, wherever on a path: gives (R, C) fp32. Rows may belong to
    /// different sessions (decode), to one (prefill), or to any mix. Tokens: only where
    /// takes_tokens.
    [[nodiscard]] virtual swarm::Result<std::vector<float>> run_layers(
        std::span<const SessionRow> rows, const StageInput& input
    ) = 0;

    /// (W, V), of W rows that run_layers() gave; only where gives_logits.
    [[nodiscard]] virtual std::vector<float> logits(std::span<const float> outputs) = 0;

    /// At the stage's own place in its model: tokens go into the first one and no other, and of the
    /// last one come (W, V) logits, of the `wanted_logit_rows` in their order, which elsewhere must
    /// be empty; else as run_layers().
    [[nodiscard]] swarm::Result<std::vector<float>> forward(
        std::span<const SessionRow> rows,
        const StageInput& input,
        std::span<const std::uint32_t> wanted_logit_rows
    );
};

}  // namespace stacking
