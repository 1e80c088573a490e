// The command line of `swarm sim`, `swarm sim compare` and `swarm sim record`.
// Invariant: outlives the parsing of the app it is added to. Errors: those of CLI11.
#pragma once

#include "swarm/cli/options.hpp"

#include <string>

namespace CLI {
class App;
}

namespace swarm::cli {

class SimVerbs {
 public:
    /// `exit_codes`: the end of each --help.
    SimVerbs(CLI::App& root, const std::string& exit_codes);
    SimVerbs(const SimVerbs&) = delete;
    SimVerbs& operator=(const SimVerbs&) = delete;

    /// Once parsing has succeeded.
    [[nodiscard]] Command command() const;

 private:
    void add_compare(CLI::App& sim, const std::string& exit_codes);
    void add_record(CLI::App& sim, const std::string& exit_codes);

    CLI::App* compare_ = nullptr;
    CLI::App* record_ = nullptr;
    SimOptions simulate_options_;
    SimCompareOptions compare_options_;
    SimRecordOptions record_options_;
};

}  // namespace swarm::cli
