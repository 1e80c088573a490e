#include "swarm/cli/stack/member_part.hpp"

#include "stacking/models/training/trained_model.hpp"
#include "swarm/base/try.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

namespace swarm::cli {
namespace {

enum class TensorPlace : std::uint8_t { Trained, Frozen, Out };

TensorPlace place_of(std::string_view tensor, MemberEnds ends) {
    const bool is_embedding = tensor == run::kEmbeddingTensor;
    const bool is_head = tensor.starts_with("head.");
    switch (ends) {
        case MemberEnds::LowerLayers:
            return is_head ? TensorPlace::Out
                           : (is_embedding ? TensorPlace::Frozen : TensorPlace::Trained);
        case MemberEnds::UpperLayers:
            return is_embedding ? TensorPlace::Out : TensorPlace::Trained;
        case MemberEnds::Head:
            break;
    }
    return is_head ? TensorPlace::Frozen : TensorPlace::Out;
}

run::StageLayout layout_of(const run::RunConfig& config, MemberEnds ends) {
    const run::StageLayout whole = run::partition(config).front();
    run::StageLayout layout = whole;
    layout.tensors.clear();
    layout.has_embedding = ends == MemberEnds::LowerLayers;
    layout.has_head = ends != MemberEnds::LowerLayers;
    layout.layers = ends == MemberEnds::Head ? 0 : whole.layers;
    for (const run::TensorSpec& tensor : whole.tensors) {
        const TensorPlace place = place_of(tensor.name, ends);
        if (place != TensorPlace::Out) {
            (place == TensorPlace::Frozen ? layout.frozen : layout.tensors).push_back(tensor);
        }
    }
    return layout;
}

}  // namespace

Result<run::RunConfig> member_run(
    const std::string& name,
    const stacking::models::Architecture& architecture,
    const MemberBatch& batch
) {
    const auto about = [&](const Error& error) {
        return Error{error.code, Reaction::Reject, name + ": " + error.detail};
    };
    const auto trained = stacking::models::as_trained(architecture);
    if (!trained) {
        return about(trained.error());
    }
    run::RunConfig config;
    config.model = *trained;
    config.model.context = std::min(batch.context, trained->context);
    config.model.max_context = 0;
    config.stages = 1;
    config.microbatches = 1;
    config.batch = batch.sequences;
    config.train.balance = 0;  // the loss of the text alone
    if (const auto checked = check_run(config); !checked) {
        return about(checked.error());
    }
    return config;
}

Result<MemberPart> load_part(
    const stacking::models::ModelSource& model,
    const run::RunConfig& config,
    MemberEnds ends,
    const stages::ComputeFactory& make_compute
) {
    MemberPart part;
    part.layout = layout_of(config, ends);
    SWARM_TRY(part.weights, model.read_stage(part.layout));
    run::StageLayout frozen = part.layout;
    frozen.tensors = part.layout.frozen;
    SWARM_TRY(part.frozen, model.read_stage(frozen));
    SWARM_TRY(part.compute, make_compute(config, part.layout));
    part.compute->use_frozen(part.frozen);
    part.compute->use_weights(part.weights);
    return part;
}

}  // namespace swarm::cli
