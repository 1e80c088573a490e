// The scenarios that come with the program: a folder `scenarios` in program_folder(), into which
// the build copies sim/scenarios. They are files, so that a person can read, copy and change them.
// Errors: NotFound (Reject), one line. Threading: none.
#pragma once

#include "swarm/base/result.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace swarm::cli {

/// Returns the folder beside this program, or that of its installation.
std::filesystem::path scenario_folder();

/// Returns `name` itself when it is a file, else <name>.toml or <name> in `folder`.
Result<std::filesystem::path> find_scenario(
    const std::string& name, const std::filesystem::path& folder
);

struct ListedScenario {
    std::string name;  // without .toml
    std::string question;
};

/// Returns the scenarios in the order of their names.
Result<std::vector<ListedScenario>> list_scenarios(const std::filesystem::path& folder);

}  // namespace swarm::cli
