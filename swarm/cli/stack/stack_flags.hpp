// The command line of `swarm stack new`, `add`, `measure` and `show`.
// Invariant: outlives the parsing of the app it is added to. Errors: those of CLI11.
#pragma once

#include "swarm/cli/options.hpp"

#include <string>

namespace CLI {
class App;
}

namespace swarm::cli {

class StackVerbs {
 public:
    /// `exit_codes`: the end of each --help.
    StackVerbs(CLI::App& root, const std::string& exit_codes);
    StackVerbs(const StackVerbs&) = delete;
    StackVerbs& operator=(const StackVerbs&) = delete;

    /// Once parsing has succeeded, with `swarm stack`.
    [[nodiscard]] Command command() const;

 private:
    CLI::App* new_ = nullptr;
    CLI::App* add_ = nullptr;
    CLI::App* measure_ = nullptr;
    CLI::App* train_ = nullptr;
    CLI::App* show_ = nullptr;
    StackNewOptions new_options_;
    StackAddOptions add_options_;
    StackMeasureOptions measure_options_;
    StackTrainOptions train_options_;
    StackShowOptions show_options_;
};

}  // namespace swarm::cli
