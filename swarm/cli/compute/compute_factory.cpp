#include "swarm/cli/compute/compute_factory.hpp"

#include "stages/compute/oracle_compute.hpp"

#ifdef SWARM_WITH_TORCH
#include "stages/torch/make_llama.hpp"
#endif

#include <memory>
#include <utility>

namespace swarm::cli {
namespace {

using Made = Result<std::unique_ptr<stages::StageCompute>>;

#ifdef SWARM_WITH_TORCH
Made make_llama(
    const run::RunConfig& config,
    const run::StageLayout& layout,
    const std::string& device,
    std::uint32_t threads
) {
    return stages::torch_backend::make_llama_compute(config, layout, device, threads);
}
#else
Made make_llama(const run::RunConfig&, const run::StageLayout&, const std::string&, std::uint32_t) {
    return Error{
        ErrorCode::Unsupported,
        Reaction::Reject,
        "this build has no LibTorch, so it trains the oracle model only; build with it, or use "
        "--model oracle"};
}
#endif

}  // namespace

stages::ComputeFactory make_compute_factory(std::string device, std::uint32_t threads) {
    return [device = std::move(device),
            threads](const run::RunConfig& config, const run::StageLayout& layout) -> Made {
        if (config.model.kind == run::ModelKind::Oracle) {
            return stages::make_oracle_compute(config, layout);
        }
        return make_llama(config, layout, device, threads);
    };
}

}  // namespace swarm::cli
