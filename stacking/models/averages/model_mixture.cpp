#include "stacking/models/averages/model_mixture.hpp"

#include "stacking/models/averages/computed_model.hpp"
#include "stacking/models/averages/model_average.hpp"
#include "stacking/models/training/shared_layers.hpp"
#include "stacking/models/training/trained_model.hpp"
#include "swarm/base/rng.hpp"
#include "swarm/base/try.hpp"
#include "swarm/run/training/mixture.hpp"

#include <charconv>
#include <cmath>
#include <string>
#include <utility>

namespace stacking::models {

using swarm::Error;
using swarm::ErrorCode;
using swarm::Reaction;
using swarm::Result;
using swarm::run::ModelConfig;
using swarm::run::ModelKind;

namespace {

/// The standard deviation with which transformers draws the matrices of a new model.
constexpr double kRouterDeviation = 0.02;
constexpr std::string_view kExpertMark = "moe.";

Error refused(ErrorCode code, std::string why) {
    return {code, Reaction::Reject, std::move(why)};
}

/// The family with experts whose layers are otherwise those of `kind`.
Result<ModelKind> mixed_kind(ModelKind kind) {
    switch (kind) {
        case ModelKind::Llama:
        case ModelKind::Mistral:
            return ModelKind::Mixtral;
        case ModelKind::Qwen3:
            return ModelKind::Qwen3Moe;
        default:
            break;
    }
    const char* const why = kind == ModelKind::Qwen2 ? ", because the family with experts that has "
                                                       "their biases, qwen2_moe, has one more that "
                                                       "computes all tokens"
                                                     : "";
    return refused(
        ErrorCode::Unsupported,
        "members of the family " + std::string(to_text(kind)) + " cannot be mixed" + why +
            "; those of the families llama, mistral and qwen3 can"
    );
}

Result<Architecture> mixture_architecture(
    const Architecture& member, std::size_t members, const MixtureSettings& settings
) {
    SWARM_TRY(ModelConfig model, as_trained(member));
    SWARM_TRY(const ModelKind mixed, mixed_kind(model.kind));
    const std::uint64_t experts = members * std::uint64_t{settings.copies};
    if (experts > swarm::run::kExpertsMax || settings.experts_per_token == 0 ||
        settings.experts_per_token > experts) {
        return refused(
            ErrorCode::Usage,
            std::to_string(experts) + " experts, " + std::to_string(settings.experts_per_token) +
                " per token; a mixture has at most " + std::to_string(swarm::run::kExpertsMax) +
                ", and one for each token or more"
        );
    }
    model.kind = mixed;
    model.experts = static_cast<std::uint32_t>(experts);
    model.experts_per_token = settings.experts_per_token;
    if (const auto fault = swarm::run::mixture_fault(model)) {
        return refused(
            ErrorCode::Unsupported,
            "a mixture of " + std::to_string(experts) + " experts " + fault->second
        );
    }
    Architecture architecture = as_served(model);
    architecture.name = "mixture of " + std::to_string(experts) + " experts";
    return architecture;
}

/// All routers follow from the seed and the layer. Their numbers are uniform, of the deviation
/// above.
void draw_router(
    std::string_view tensor, RowRange rows, std::uint64_t seed, std::span<float> values
) {
    const double reach = kRouterDeviation * std::sqrt(3.0);
    swarm::Rng rng(seed, layer_of_tensor(tensor).value_or(0));
    const std::uint64_t skipped = rows.first * (values.size() / rows.count);
    for (std::uint64_t i = 0; i < skipped; ++i) {
        rng.next();
    }
    for (float& value : values) {
        value = static_cast<float>((2 * rng.unit() - 1) * reach);
    }
}

struct ExpertMatrix {
    std::uint32_t expert = 0;
    std::string name;  // "layers.17.mlp.w1"
};

/// REQUIRES: a tensor such as "layers.17.moe.3.w1".
ExpertMatrix matrix_of_expert(std::string_view tensor) {
    const std::size_t mark = tensor.find(kExpertMark);
    const std::size_t dot = tensor.find('.', mark + kExpertMark.size());
    ExpertMatrix found;
    std::from_chars(tensor.data() + mark + kExpertMark.size(), tensor.data() + dot, found.expert);
    found.name = std::string(tensor.substr(0, mark)) + "mlp" + std::string(tensor.substr(dot));
    return found;
}

}  // namespace

Result<ModelSource> mixture_of(
    std::vector<std::shared_ptr<const ModelSource>> members, const MixtureSettings& settings
) {
    std::vector<AveragePart> parts;
    for (const auto& member : members) {
        parts.push_back({member, 1});
    }
    SWARM_TRY(ModelSource average, average_of(std::move(parts)));
    SWARM_TRY(
        Architecture architecture,
        mixture_architecture(average.architecture(), members.size(), settings)
    );
    const auto shared = std::make_shared<const ModelSource>(std::move(average));
    return computed_model(
        std::move(architecture),
        [members = std::move(members),
         shared,
         settings](std::string_view tensor, RowRange rows, std::span<float> values) -> Result<> {
            if (swarm::run::is_router(tensor)) {
                draw_router(tensor, rows, settings.seed, values);
                return {};
            }
            if (!swarm::run::is_expert(tensor)) {
                return shared->read_rows(tensor, rows, values);
            }
            const ExpertMatrix matrix = matrix_of_expert(tensor);
            return members[matrix.expert / settings.copies]->read_rows(matrix.name, rows, values);
        }
    );
}

}  // namespace stacking::models
