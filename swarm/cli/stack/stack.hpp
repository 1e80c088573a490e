// `swarm stack new`, `add`, `remove`, `measure`, `train` and `show`: describes several models as
// one, and measures whether that pays.
// Threading: the main thread. Errors: an exit code, and one line on stderr.
#pragma once

#include "swarm/cli/common/verb.hpp"
#include "swarm/cli/compute/threads.hpp"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace swarm::cli {

struct StackNewOptions {
    std::string file;
    std::vector<std::string> members;
    std::vector<double> priors;  // one per member; empty: all are 1
    std::string mode = "ensemble";
    std::string clusters{};     // file of `swarm stack clusters`; empty: none
    std::uint32_t experts = 0;  // members per text; 0: all
};

struct StackAddOptions {
    std::string file;
    std::string member;
    double prior = 1;
};

struct StackRemoveOptions {
    std::string file;
    std::string member;  // name of the member in the file
};

struct StackMeasureOptions {
    std::string file;
    std::vector<std::string> texts;
    std::uint32_t tokens = 4096;  // maximum per text
    std::uint32_t window = 0;     // tokens that are read in one go; 0: 256, or the context
    std::string weights = "as-is";
    ThreadsFlag threads;  // none: auto
};

struct StackTrainOptions {
    std::string file;
    std::vector<std::string> texts;
    std::uint32_t steps = 250;
    std::uint32_t batch = 8;
    std::uint32_t window = 128;  // tokens
    double learning_rate = 1e-3;
    std::uint64_t seed = 1;
    std::string device = "auto";
    ThreadsFlag threads;  // none: 1
    // For a chain as a whole, whose run file has the settings instead:
    bool whole = false;
    std::string folder{};
    std::vector<std::pair<std::string, std::string>> settings{};  // keys of the run file
};

struct StackShowOptions {
    std::string file;
};

/// Adds the verb and those below it.
void add_stack(CLI::App& program, const OnChosen& on_chosen);
/// Adds `train` below `swarm stack`.
void add_stack_train(CLI::App& stack, const OnChosen& on_chosen);

int new_stack(const StackNewOptions& options);
int add_to_stack(const StackAddOptions& options);
int remove_from_stack(const StackRemoveOptions& options);
int measure_stack(const StackMeasureOptions& options);
int train_stack(const StackTrainOptions& options);
int train_whole(const StackTrainOptions& options);
int show_stack(const StackShowOptions& options);

}  // namespace swarm::cli
