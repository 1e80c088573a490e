#include "swarm/run/layer_work.hpp"

#include "swarm/run/partition.hpp"

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
            weights += static_cast<double>(tensor.elements());
        }
        const double attention = 4.0 * model.context * model.width;
        work.push_back(kForwardAndBackward * tokens * (2 * weights + attention) / 1e9);
    }
    if (model.kind == ModelKind::Llama) {
        const double head = 2.0 * model.vocabulary * model.width;
        work.back() += kForwardAndBackward * tokens * head / 1e9;
    }
    return work;
}

}  // namespace swarm::run
