// The configuration of a run, from the command line and the run file.
// Errors: Usage, NotFound, Malformed (Reject): one line each, exit code 3.
#pragma once

#include "swarm/base/result.hpp"
#include "swarm/cli/common/run_flags.hpp"
#include "swarm/run/config.hpp"

#include <filesystem>

namespace swarm::cli {

/// Name of the file in a run's folder that holds the configuration, for --resume.
inline constexpr const char* kRunFileName = "run.toml";

/// Applies --set > flag > run file > default, takes the shape of the model that the run begins
/// with, then checks the result. An empty name means no file.
Result<run::RunConfig> resolve_run(const std::filesystem::path& run_file, const RunFlags& flags);

/// Returns the folder from which the corpus of resolve_run() is named: that of the run file, or the
/// current one, which is empty, where a flag or --set names the corpus.
std::filesystem::path corpus_folder(const std::filesystem::path& run_file, const RunFlags& flags);

/// The same for the texts of eval.texts, which no other flag names.
std::filesystem::path held_out_folder(
    const std::filesystem::path& run_file, const RunFlags& flags
);

}  // namespace swarm::cli
