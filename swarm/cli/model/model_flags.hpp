// The command line of `swarm model fetch`, `show` and `export`.
// Invariant: outlives the parsing of the app it is added to. Errors: those of CLI11.
#pragma once

#include "swarm/cli/options.hpp"

#include <string>

namespace CLI {
class App;
}

namespace swarm::cli {

class ModelVerbs {
 public:
    /// `exit_codes`: the end of each --help.
    ModelVerbs(CLI::App& root, const std::string& exit_codes);
    ModelVerbs(const ModelVerbs&) = delete;
    ModelVerbs& operator=(const ModelVerbs&) = delete;

    /// Once parsing has succeeded, with `swarm model`.
    [[nodiscard]] Command command() const;

 private:
    CLI::App* fetch_ = nullptr;
    CLI::App* show_ = nullptr;
    CLI::App* export_ = nullptr;
    ModelFetchOptions fetch_options_;
    ModelShowOptions show_options_;
    ModelExportOptions export_options_;
};

}  // namespace swarm::cli
