// The oracle of an exact run stands for a model whose activations, sums, shares and states
// have the sizes of the scenario. The oracle's own tensors are tiny. They travel in as many frames
// as those of the model would (ModelConfig::stands_for), and each frame weighs what the model's
// frame would weigh, so that reductions, exchanges and downloads take the lines' time.
// Threading: values. Units: bytes. Cost: O(1) per frame.
#pragma once

#include "sim/scenario/schedule.hpp"
#include "sim/world.hpp"
#include "swarm/run/config.hpp"
#include "swarm/run/partition.hpp"

#include <cstdint>
#include <vector>

namespace sim {

/// Gives the oracle of `config` as many elements as the pieces of the scenario's state need.
void stand_for(const Pipeline& pipeline, swarm::run::RunConfig& config);

class FrameWeights {
 public:
    /// `config` went through stand_for(). `fleet` outlives the object.
    FrameWeights(
        const Pipeline& pipeline,
        const swarm::run::RunConfig& config,
        const std::vector<FleetPeer>& fleet
    );

    /// Bytes of the frame beyond those of its own payload (WorldOptions::extra_bytes).
    [[nodiscard]] std::uint64_t extra_bytes(PeerId from, const node::Send& send) const;

 private:
    [[nodiscard]] double bytes_of(PeerId from, PeerId to, const node::Payload& part, bool values)
        const;
    [[nodiscard]] double bytes_of(const swarm::protocol::Chunk& chunk) const;
    [[nodiscard]] double line_between(PeerId from, PeerId to) const;

    Pipeline pipeline_;
    swarm::run::StageLayout layout_;  // each stage of the oracle has the same
    const std::vector<FleetPeer>& fleet_;
    double per_sum_ = 0;    // sums of the model for each of the oracle's
    double per_state_ = 0;  // bytes of the model's state for each of the oracle's
    double share_bytes_ = 0;
};

}  // namespace sim
