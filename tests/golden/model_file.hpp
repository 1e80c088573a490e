// Finds the model of the golden answers in the cache, where `swarm model fetch smollm2` puts it.
// Errors: a test without the model fails and names the command that fetches it.
#pragma once

#include <cstdlib>
#include <filesystem>

namespace swarm::golden {

inline constexpr const char* kFetchIt = "not there: ./swarm.sh test, or swarm model fetch smollm2";

/// Returns $SWARM_DEPS, or the cache that ./swarm.sh and the program use without that variable.
inline std::filesystem::path cache_folder() {
    namespace fs = std::filesystem;
    const auto variable = [](const char* name) {
        const char* const value = std::getenv(name);
        return fs::path(value == nullptr ? "" : value);
    };
    if (const fs::path deps = variable("SWARM_DEPS"); !deps.empty()) {
        return deps;
    }
    const fs::path cache = variable("XDG_CACHE_HOME");
    return (cache.empty() ? variable("HOME") / ".cache" : cache) / "swarm";
}

inline std::filesystem::path smollm2_file() {
    return cache_folder() / "models" / "smollm2" / "SmolLM2-135M-Instruct.Q4_1.gguf";
}

}  // namespace swarm::golden
