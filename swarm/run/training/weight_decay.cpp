#include "swarm/run/training/weight_decay.hpp"

#include "swarm/run/training/boundary_maps.hpp"
#include "swarm/run/training/tensor_groups.hpp"

#include <algorithm>

namespace swarm::run {

bool has_weight_decay(const OptimizerConfig& optimizer, const TensorSpec& tensor) {
    return tensor.shape.size() == 2 && !is_boundary_map(tensor.name) &&
           std::ranges::none_of(optimizer.no_decay, [&](const std::string& group) {
               return is_in_group(group, tensor);
           });
}

std::optional<std::string> no_decay_fault(const RunConfig& config) {
    return groups_fault(config.optimizer.no_decay, config.model);
}

}  // namespace swarm::run
