// Judges the commands of tests/bench/RESULTS.md: each must run on the tree that the file lies in.
// A command is one of
//   swarm ...              that the program's own option parser takes
//   swarm-bench ...        that the bench's option parser takes
//   NAME_test ...          a test that a CMakeLists.txt below tests/ builds, with a filter that
//                          finds something
//   ./swarm.sh VERB ...    verb and flags as its own usage text has them
//   python3 tests/bench/baselines/NAME.py ...   a file that is there
// Errors: a sentence that says what is wrong; nullopt where nothing is. Threading: one thread.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace swarm::test {

using Fault = std::optional<std::string>;

/// Splits as a shell does: at spaces, with '...' and "..." around words that have some. A quote
/// that does not end takes the rest.
std::vector<std::string> words_of(const std::string& command);

/// Returns the complaint of the option parser of `swarm`. The first word is "swarm".
Fault swarm_usage_fault(const std::vector<std::string>& words);

/// Judges a command on the tree below `root`, the repository.
Fault command_fault(const std::filesystem::path& root, const std::string& command);

/// Says why no commit can be looked up below `root`: no git, no repository, or a shallow clone.
Fault history_fault(const std::filesystem::path& root);
Fault commit_fault(const std::filesystem::path& root, const std::string& commit);

}  // namespace swarm::test
