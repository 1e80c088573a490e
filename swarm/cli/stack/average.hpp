// `swarm stack average` and `soup`: one model whose weights are the average of those of several
// models that began alike.
// Threading: the main thread, whose pool helps. Errors: an exit code, and one line on stderr. The
// folder that they write appears whole or not at all.
#pragma once

#include "swarm/base/result.hpp"
#include "swarm/cli/common/verb.hpp"
#include "swarm/cli/compute/threads.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace swarm::cli {

class Console;

/// How the texts of --text are scored.
struct HeldOutOptions {
    std::vector<std::string> texts;  // files, or folders of files
    std::uint32_t tokens = 4096;     // maximum per text
    ThreadsFlag threads;             // none: auto
};

struct StackAverageOptions {
    std::vector<std::string> models;  // paths or names
    std::string folder;
    std::vector<double> weights;  // one per model; empty: by `by`
    std::string by = "uniform";   // or loss, or fisher
    HeldOutOptions held_out;      // for `loss` and `fisher`
};

struct StackSoupOptions {
    std::vector<std::string> models;  // paths or names
    std::string folder;
    HeldOutOptions held_out;
};

// Add the verbs below `swarm stack`.
void add_average(CLI::App& stack, const OnChosen& on_chosen);
void add_soup(CLI::App& stack, const OnChosen& on_chosen);

/// Does what `swarm stack average` does, and prints the same.
Result<> write_average_model(const StackAverageOptions& options, Console& console);

int average_models(const StackAverageOptions& options);
int cook_soup(const StackSoupOptions& options);

}  // namespace swarm::cli
