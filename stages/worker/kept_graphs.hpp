// The graphs of a stage between their forward and their backward, within a memory bound. A graph
// that has no room is dropped, and its forward is computed again when the backward comes.
// Invariants: a microbatch has the same gradient either way, because the forward runs again on the
// same weights, input and device. The newest graph is dropped first, because the oldest one is
// needed next. Without a bound nothing but the graphs is kept.
// Threading: one thread, the device's. Memory: the room, the graph being worked on, and the input
// (B, T, C) and tokens of every forward whose backward has not come.
// Errors: those of StageCompute::forward(), from restore() only.
// Source: step protocol, section 5 (the backward runs where its forward ran).
#pragma once

#include "stages/compute/compute.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace stages {

class KeptGraphs {
 public:
    /// `compute` outlives the object.
    explicit KeptGraphs(StageCompute& compute) : compute_(compute) {}

    /// Bounds the bytes of all graphs. There is no bound before the first call, which precedes the
    /// first forward.
    void set_room(std::uint64_t bytes);

    /// Notes that `compute` has just kept the graph of this forward.
    void add(
        GraphKey key,
        const std::optional<StageTensor>& input,
        const std::vector<std::uint32_t>& tokens
    );
    /// Computes the graph again if it was dropped; is called before a backward. Errors: those of
    /// StageCompute::forward().
    Result<> restore(GraphKey key);
    /// Notes that the backward has used the graph up.
    void used(GraphKey key);
    void drop(GraphKey key);
    void drop_all();

    /// Forwards that were computed again.
    [[nodiscard]] std::uint64_t recomputed() const { return recomputed_; }

 private:
    struct Forward {
        std::uint64_t order = 0;
        std::optional<StageTensor> input;  // empty for the stage with the embedding
        std::vector<std::uint32_t> tokens;
    };

    /// Drops the newest graphs until the others fit the bound.
    void fit();

    StageCompute& compute_;
    std::optional<std::uint64_t> room_bytes_;
    std::map<GraphKey, Forward> forwards_;        // empty without a bound
    std::map<std::uint64_t, GraphKey> resident_;  // forwards whose graph is kept, by order
    std::uint64_t next_order_ = 0;
    std::uint64_t recomputed_ = 0;
};

}  // namespace stages
