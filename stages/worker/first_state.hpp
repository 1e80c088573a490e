// The hash of the state with which a stage begins a run, as its peers say it in JOIN. Whoever makes
// a coordinator gives it this function, so that no peer's word decides what a run begins with.
// Threading: pure. Errors: none. Memory: that of one such state while it is made. Cost: seconds for
// each billion parameters. Source: step protocol, section 7 (join).
#pragma once

#include "swarm/base/digest.hpp"
#include "swarm/run/config.hpp"
#include "swarm/run/partition.hpp"

namespace stages {

/// In mode sparse the hash is that of the weights, which the replicas share.
swarm::Digest first_state_hash(
    const swarm::run::RunConfig& config, const swarm::run::StageLayout& layout
);

}  // namespace stages
