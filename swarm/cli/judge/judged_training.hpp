// The options of `swarm train --single` for a training of `swarm stack judge`.
// Threading: pure but for reading the base's run files and the model that the training begins with.
// Errors: those of the readers.
#pragma once

#include "swarm/base/result.hpp"
#include "swarm/cli/judge/judge.hpp"
#include "swarm/cli/judge/recipes.hpp"
#include "swarm/cli/train/train.hpp"

#include <cstdint>
#include <filesystem>

namespace swarm::cli {

struct JudgedTraining {
    const JudgeOptions& judge;
    const std::filesystem::path& folder;  // the seed has its trainings in it
    std::uint64_t seed = 0;
    const Training& training;
    std::filesystem::path text;
};

/// The base must be there, unless the training is the base or begins with nothing.
Result<TrainOptions> training_options(const JudgedTraining& wanted);

}  // namespace swarm::cli
