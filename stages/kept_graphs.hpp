// The graphs of a stage between their forward and their backward, within a bound. What has no room
// is dropped, and its forward is computed again when the backward comes.
// Invariants: a microbatch has the same gradient either way: the forward that ran once runs again,
// on the same weights, input and device. The newest graph goes first: the oldest is needed next.
// Without a bound nothing but the graphs is kept.
// Threading: one thread, the device's. Memory: the room, the graph being worked on, and the input
// (B, T, C) and tokens of every forward whose backward has not come.
// Source: step protocol, section 5 (the backward runs where its forward ran).
#pragma once

#include "stages/compute.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace stages {

class KeptGraphs {
 public:
    /// `compute` outlives this.
    explicit KeptGraphs(StageCompute& compute) : compute_(compute) {}

    /// Bytes for graphs; no bound until the first call, which precedes the first forward.
    void set_room(std::uint64_t bytes);

    /// `compute` has just kept the graph of this forward.
    void add(
        GraphKey key,
        const std::optional<StageTensor>& input,
        const std::vector<std::uint32_t>& tokens
    );
    /// Before a backward: computes the graph again if it was dropped. Errors of forward().
    Result<> restore(GraphKey key);
    /// The backward used the graph up.
    void used(GraphKey key);
    void drop(GraphKey key);
    void drop_all();

    /// Forwards that were computed again.
    [[nodiscard]] std::uint64_t recomputed() const { return recomputed_; }

 private:
    struct Forward {
        std::uint64_t order = 0;
        std::optional<StageTensor> input;  // none for the stage with the embedding
        std::vector<std::uint32_t> tokens;
    };

    void fit();

    StageCompute& compute_;
    std::optional<std::uint64_t> room_bytes_;
    std::map<GraphKey, Forward> forwards_;        // empty without a bound
    std::map<std::uint64_t, GraphKey> resident_;  // by order: those whose graph is there
    std::uint64_t next_order_ = 0;
    std::uint64_t recomputed_ = 0;
};

}  // namespace stages
