#include "stacking/models/architecture.hpp"

#include "stacking/models/limits.hpp"
#include "swarm/base/check.hpp"
#include "swarm/base/try.hpp"
#include "swarm/run/layer_split.hpp"

#include <utility>

namespace stacking::models {

using swarm::Error;
using swarm::ErrorCode;
using swarm::Reaction;
using swarm::Result;
using swarm::run::ModelConfig;

namespace {

Error bad(ErrorCode code, std::string what) {
    return {code, Reaction::Reject, "the model's configuration: " + std::move(what)};
}

Result<> check_bounds(const ModelConfig& model) {
    struct Bound {
        const char* name;
        std::uint64_t value;
        std::uint64_t largest;
    };

    const Bound bounds[] = {
        {"layers", model.layers, kLayersMax},
        {"width", model.width, kWidthMax},
        {"heads", model.heads, kWidthMax},
        {"key/value heads", model.kv_heads, kWidthMax},
        {"feed-forward width", model.ffn_width, kFfnWidthMax},
        {"vocabulary", model.vocabulary, kVocabularyMax},
        {"context", model.context, kContextMax},
    };
    for (const Bound& bound : bounds) {
        if (bound.value == 0 || bound.value > bound.largest) {
            return bad(
                ErrorCode::Unsupported,
                std::to_string(bound.value) + " as " + bound.name + "; 1 to " +
                    std::to_string(bound.largest) + " can be read"
            );
        }
    }
    return {};
}

}  // namespace

Result<> check(const Architecture& architecture) {
    const ModelConfig& model = architecture.model;
    SWARM_TRY(check_bounds(model));
    if (model.width % model.heads != 0 || model.width / model.heads % 2 != 0 ||
        model.heads % model.kv_heads != 0) {
        return bad(
            ErrorCode::Malformed,
            "width " + std::to_string(model.width) + ", " + std::to_string(model.heads) +
                " heads and " + std::to_string(model.kv_heads) + " key/value heads do not fit"
        );
    }
    // These conditions are written so that NaN fails, too.
    if (!(model.rope_base >= 1 && model.rope_base <= 1e12)) {
        return bad(ErrorCode::Malformed, "the rope base is not between 1 and 1e12");
    }
    if (!(model.norm_epsilon >= 1e-12 && model.norm_epsilon <= 1)) {
        return bad(ErrorCode::Malformed, "the norm epsilon is not between 1e-12 and 1");
    }
    if (architecture.begin_token && *architecture.begin_token >= model.vocabulary) {
        return bad(ErrorCode::Malformed, "the begin token is outside the vocabulary");
    }
    for (const std::uint32_t token : architecture.end_tokens) {
        if (token >= model.vocabulary) {
            return bad(ErrorCode::Malformed, "an end token is outside the vocabulary");
        }
    }
    return {};
}

std::vector<swarm::run::StageLayout> split(const Architecture& architecture, std::uint32_t stages) {
    swarm::run::RunConfig run;
    run.model = architecture.model;
    run.stages = stages;
    std::vector<swarm::run::LayerCost> costs(architecture.model.layers);
    for (std::uint32_t layer = 0; layer < costs.size(); ++layer) {
        for (const auto& tensor : swarm::run::layer_tensors(run, layer)) {
            costs[layer].time += static_cast<double>(tensor.elements());
        }
    }
    const double head =
        static_cast<double>(architecture.model.vocabulary) * architecture.model.width;
    costs.back().time += head;
    run.layers_per_stage = *swarm::run::split_layers(costs, stages);
    return swarm::run::partition(run);
}

swarm::run::StageLayout layers_of(
    const Architecture& architecture, std::uint32_t first, std::uint32_t end
) {
    const std::uint32_t layers = architecture.model.layers;
    SWARM_ASSERT(first < end && end <= layers);
    swarm::run::RunConfig run;
    run.model = architecture.model;
    for (const std::uint32_t count : {first, end - first, layers - end}) {
        if (count > 0) {
            run.layers_per_stage.push_back(count);
        }
    }
    run.stages = static_cast<std::uint32_t>(run.layers_per_stage.size());
    return std::move(swarm::run::partition(run)[first > 0 ? 1 : 0]);
}

std::vector<swarm::run::TensorSpec> tensors_of(const Architecture& architecture) {
    return std::move(split(architecture, 1).front().tensors);
}

}  // namespace stacking::models
