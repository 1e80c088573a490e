// A member of a stack on LibTorch, whole or without the ends that the work at hand does not need.
// Threading: one thread; LibTorch has threads of its own, and the bits depend on their number.
// Errors: Unsupported (a model that is not trained here; no LibTorch), and those of the model's
// reader; Reject: one line that names the member. Memory: the part's weights twice.
#pragma once

#include "stacking/models/model_source.hpp"
#include "stages/compute/compute.hpp"
#include "stages/server/joining.hpp"
#include "swarm/base/result.hpp"
#include "swarm/run/config.hpp"
#include "swarm/run/partition.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace swarm::cli {

struct MemberBatch {
    std::uint32_t context = 0;    // positions of a sequence, at most
    std::uint32_t sequences = 1;  // per batch
};

/// The run of one stage that takes such batches, a microbatch each; its context is that of the
/// model where that is less.
Result<run::RunConfig> member_run(
    const std::string& name,
    const stacking::models::Architecture& architecture,
    const MemberBatch& batch
);

enum class MemberEnds : std::uint8_t {
    LowerLayers,  // the embedding, which is frozen, and the layers
    UpperLayers,  // the layers and the head
    Head          // the head alone, which is frozen
};

struct MemberPart {
    run::StageLayout layout;
    std::vector<float> weights;  // values of layout.tensors
    std::vector<float> frozen;   // values of layout.frozen
    std::unique_ptr<stages::StageCompute> compute;  // borrows both

    [[nodiscard]] std::size_t parameters() const { return layout.elements(); }
};

/// `config`: a member_run() of the model.
Result<MemberPart> load_part(
    const stacking::models::ModelSource& model,
    const run::RunConfig& config,
    MemberEnds ends,
    const stages::ComputeFactory& make_compute
);

}  // namespace swarm::cli
