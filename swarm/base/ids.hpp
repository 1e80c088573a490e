// Strong ids: each kind of id has a type of its own, so that two kinds cannot be mixed up.
// Ids are ordered by value, so containers keyed by id iterate in the same order on every machine.
// The names are those of the step protocol (swarm/protocol/PROTOCOL.md).
#pragma once

#include <array>
#include <compare>
#include <cstdint>

namespace swarm {

template <class Tag, class Value = std::uint64_t>
struct Id {
    Value value = 0;

    // NOLINTNEXTLINE(modernize-use-nullptr): clang-tidy 14 misreads the 0 inside a defaulted <=>
    friend constexpr auto operator<=>(const Id&, const Id&) = default;
};

/// SHA-256 of the peer's raw Ed25519 public key. Simulated peers are numbered in the first word.
struct PeerId {
    std::array<std::uint64_t, 4> words{};

    // NOLINTNEXTLINE(modernize-use-nullptr): clang-tidy 14 misreads the 0 inside a defaulted <=>
    friend constexpr auto operator<=>(const PeerId&, const PeerId&) = default;
};

/// A number drawn at each start of a process; it tells a restarted peer from the peer before the
/// restart. Incarnations are not ordered in time.
using Incarnation = Id<struct IncarnationTag>;

/// Membership of one incarnation of a peer, from its admission until it is fenced or leaves.
/// The high 32 bits are the incarnation of the coordinator (cinc), so a slot id is never reused
/// within a run.
using SlotId = Id<struct SlotTag>;

using StageIndex = Id<struct StageTag, std::uint32_t>;
using MicrobatchId = Id<struct MicrobatchTag, std::uint32_t>;

/// A counter within a step; its high 32 bits are cinc. It starts at (cinc, 1) and grows with every
/// recall.
using Epoch = Id<struct EpochTag>;

/// The epoch in which an attempt at a microbatch was launched.
using Attempt = Epoch;

/// Names one Append or WriteFile of one role; Stored brings the id back.
using StoreId = Id<struct StoreTag>;

/// Names one Compute of one role; Computed brings the id back.
using JobId = Id<struct JobTag>;

/// Names a set of weights: the weights after `step` committed steps of generation `gen`. Every
/// rollback raises the generation.
struct ParameterVersion {
    std::uint32_t gen = 0;
    std::uint64_t step = 0;

    // NOLINTNEXTLINE(modernize-use-nullptr): clang-tidy 14 misreads the 0 inside a defaulted <=>
    friend constexpr auto operator<=>(const ParameterVersion&, const ParameterVersion&) = default;
};

constexpr Epoch make_epoch(std::uint32_t cinc, std::uint32_t counter) {
    return {(static_cast<std::uint64_t>(cinc) << 32) | counter};
}

/// A set of stages; each stage has one bit (kStagesMax = 64).
struct StageMask {
    std::uint64_t bits = 0;

    static constexpr StageMask first(std::uint32_t stages) {
        return {stages >= 64 ? ~0ULL : (1ULL << stages) - 1};
    }

    [[nodiscard]] constexpr bool has(StageIndex stage) const {
        return ((bits >> stage.value) & 1U) != 0;
    }

    [[nodiscard]] constexpr bool has_below(StageIndex stage) const {
        return (bits & first(stage.value).bits) != 0;
    }

    constexpr void add(StageIndex stage) { bits |= 1ULL << stage.value; }

    [[nodiscard]] constexpr bool empty() const { return bits == 0; }

    friend constexpr bool operator==(const StageMask&, const StageMask&) = default;
};

}  // namespace swarm
