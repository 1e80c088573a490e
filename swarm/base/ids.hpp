// Strong ids: one type per kind of id, so that two kinds cannot be mixed up.
// Ordered by value, so containers keyed by id iterate in the same order on every machine.
// Names are those of the step protocol (swarm/protocol/PROTOCOL.md).
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

/// SHA-256 of the peer's raw Ed25519 public key. Simulated peers count in the first word.
struct PeerId {
    std::array<std::uint64_t, 4> words{};

    // NOLINTNEXTLINE(modernize-use-nullptr): clang-tidy 14 misreads the 0 inside a defaulted <=>
    friend constexpr auto operator<=>(const PeerId&, const PeerId&) = default;
};

/// Random per process start: tells a restarted peer from its former self. Not ordered in time.
using Incarnation = Id<struct IncarnationTag>;

/// Membership of one incarnation of a peer, from its admission until it is fenced or leaves.
/// High 32 bits: incarnation of the coordinator (cinc); so never reused within a run.
using SlotId = Id<struct SlotTag>;

using StageIndex = Id<struct StageTag, std::uint32_t>;
using MicrobatchId = Id<struct MicrobatchTag, std::uint32_t>;

/// Counter within a step, high 32 bits = cinc; starts at (cinc, 1); grows with every recall.
using Epoch = Id<struct EpochTag>;

/// The epoch in which a try of a microbatch was launched.
using Attempt = Epoch;

/// Names one Append or WriteFile of one role; Stored carries it back.
using StoreId = Id<struct StoreTag>;

/// Names one Compute of one role; Computed carries it back.
using JobId = Id<struct JobTag>;

/// Which set of weights: t committed steps in generation gen (gen grows with every rollback).
struct ParameterVersion {
    std::uint32_t gen = 0;
    std::uint64_t step = 0;

    // NOLINTNEXTLINE(modernize-use-nullptr): clang-tidy 14 misreads the 0 inside a defaulted <=>
    friend constexpr auto operator<=>(const ParameterVersion&, const ParameterVersion&) = default;
};

constexpr Epoch make_epoch(std::uint32_t cinc, std::uint32_t counter) {
    return {(static_cast<std::uint64_t>(cinc) << 32) | counter};
}

/// A set of stages, one bit each (kStagesMax = 64).
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
