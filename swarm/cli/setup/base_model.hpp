// The model that a run begins with (run.init): its shape and its tokenizer become the run's, and
// its weights the state of version 0, with moments of zero.
// Invariant: run.init_sha256 is the SHA-256 of the weights as fp32 in global order, so the same
// model in another file format is the same beginning.
// Threading: one thread. Errors: those of the readers; Unsupported (a family that is not trained),
// Mismatch (the run file says another shape, or run.init_sha256 is another model's); Reject.
// Memory: first_states() holds 12 bytes per parameter.
#pragma once

#include "stacking/models/model_source.hpp"
#include "stages/worker/stage_state.hpp"
#include "swarm/base/result.hpp"
#include "swarm/run/config.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace swarm::cli {

struct BaseModel {
    stacking::models::ModelSource source;
    std::string tokenizer;  // bytes of its file; empty: tokens are bytes
};

/// Opens config.init: a path from `folder`, or a model's name. Writes the path as an absolute one,
/// the model's shape and the name of its tokenizer into `config`. config.model.context stays, if
/// the model knows so many positions; where it is the default, it falls to what the model knows.
Result<BaseModel> open_base_model(run::RunConfig& config, const std::filesystem::path& folder);

/// Reads the weights, by stage. Writes run.init_sha256, or compares it with the one that is there.
Result<std::vector<stages::StageState>> first_states(const BaseModel& base, run::RunConfig& config);

}  // namespace swarm::cli
