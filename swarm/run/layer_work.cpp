#include "swarm/run/layer_work.hpp"

#include "swarm/run/partition.hpp"
#include "swarm/run/training/mixture.hpp"

namespace swarm::run {
namespace {

constexpr double kForwardAndBackward = 3;

}  // namespace

std::vector<double> layer_work(const RunConfig& config) {
    const ModelConfig& model = config.model;
    const double tokens = static_cast<double>(config.batch) * model.context;
    std::vector<double> work;
    for (std::uint32_t layer = 0; layer < model.layers; ++layer) {
        double weights = 0;
        for (const TensorSpec& tensor : layer_tensors(config, layer)) {
            const double share = used_share(model, tensor.name);
            weights += share * static_cast<double>(tensor.elements());
        }
        const bool is_oracle = model.kind == ModelKind::Oracle;
        const double queries =
            is_oracle ? model.width : static_cast<double>(model.heads) * model.values_per_head();
        const double attention = 4.0 * model.context * queries;
        const double once = kForwardAndBackward * tokens * (2 * weights + attention) / 1e9;
        work.push_back(model.repeat * once);
    }
    if (model.kind != ModelKind::Oracle) {
        const double head = 2.0 * model.vocabulary * model.width;
        work.back() += kForwardAndBackward * tokens * head / 1e9;
        for (const std::uint32_t exit : config.train.exits) {
            work[exit - 1] += kForwardAndBackward * tokens * head / 1e9;
        }
    }
    return work;
}

double boundary_map_work(const RunConfig& config) {
    const ModelConfig& model = config.model;
    const double tokens = static_cast<double>(config.batch) * model.context;
    const double weights = static_cast<double>(model.bottleneck) * model.width;
    return kForwardAndBackward * tokens * 2 * weights / 1e9;
}

}  // namespace swarm::run
