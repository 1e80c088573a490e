#include "swarm/cli/compute/compute_factory.hpp"

#include "stages/compute/oracle_compute.hpp"
#include "stages/torch/library/torch_library.hpp"

#include <memory>
#include <utility>

namespace swarm::cli {

stages::ComputeFactory make_compute_factory(std::string device, std::uint32_t threads) {
    return [device = std::move(device), threads](
               const run::RunConfig& config, const run::StageLayout& layout
           ) -> Result<std::unique_ptr<stages::StageCompute>> {
        if (config.model.kind == run::ModelKind::Oracle) {
            return stages::make_oracle_compute(config, layout);
        }
        return stages::torch_library::make_llama_compute(config, layout, device, threads);
    };
}

}  // namespace swarm::cli
