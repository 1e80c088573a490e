#include "stages/worker/first_state.hpp"

#include "stages/worker/stage_state.hpp"

#include <span>

namespace stages {

swarm::Digest first_state_hash(
    const swarm::run::RunConfig& config, const swarm::run::StageLayout& layout
) {
    const StageState state = StageState::from_seed(config, layout);
    return config.mode == swarm::run::SyncMode::Sparse
               ? swarm::sha256(std::as_bytes(state.weights()))
               : state.hash();
}

}  // namespace stages
