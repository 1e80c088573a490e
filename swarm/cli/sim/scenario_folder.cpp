#include "swarm/cli/sim/scenario_folder.hpp"

#include "sim/scenario/scenario.hpp"
#include "swarm/cli/common/files.hpp"

#include <algorithm>
#include <system_error>

namespace swarm::cli {
namespace {

namespace fs = std::filesystem;

bool is_file(const fs::path& path) {
    std::error_code ignored;  // a path that cannot be examined counts as missing
    return fs::is_regular_file(path, ignored);
}

}  // namespace

fs::path scenario_folder() {
    return program_folder() / "scenarios";
}

Result<fs::path> find_scenario(const std::string& name, const fs::path& folder) {
    for (const fs::path& path : {fs::path(name), folder / (name + ".toml"), folder / name}) {
        if (is_file(path)) {
            return path;
        }
    }
    return Error{
        ErrorCode::NotFound,
        Reaction::Reject,
        name +
            ": there is no such file, and no scenario of that name; `swarm sim --list` shows them"};
}

Result<std::vector<ListedScenario>> list_scenarios(const fs::path& folder) {
    std::error_code error;
    std::vector<ListedScenario> found;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
        if (entry.path().extension() == ".toml") {
            const Result<sim::Scenario> scenario = sim::load_scenario(entry.path().string());
            found.push_back(
                {entry.path().stem().string(),
                 scenario ? scenario->question : "rejected: " + scenario.error().detail}
            );
        }
    }
    if (error) {
        return Error{
            ErrorCode::NotFound,
            Reaction::Reject,
            folder.string() + ": " + error.message() + "; name a folder after --list"};
    }
    std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) {
        return a.name < b.name;
    });
    return found;
}

}  // namespace swarm::cli
