// `swarm manual`: the manual pages of all verbs and the completion of a shell, from the description
// of verbs and flags that --help prints, so that they cannot differ from it.
// Threading: the main thread. Errors: StorageFailed, one line on stderr.
#pragma once

#include "swarm/cli/common/verb.hpp"

#include <string>
#include <vector>

namespace swarm::cli {

struct FlagText {
    std::string names;  // "-o,--out", or the name of a word without a flag: "scenario"
    std::string value;  // "FILE"; empty: the flag takes none
    std::string meaning;
    std::vector<std::string> choices{};  // all values that it takes; empty: there are others
    bool is_word = false;                // stands without a flag
};

/// A verb, or `swarm` itself.
struct VerbText {
    std::string name;  // "swarm sim compare"
    std::string meaning;
    std::vector<FlagText> flags{};
    std::string examples{};    // lines as --help has them
    std::string exit_codes{};  // same
    std::vector<VerbText> verbs{};
};

struct ManualOptions {
    std::string folder;
    VerbText swarm;
};

void add_manual(CLI::App& program, const OnChosen& on_chosen);

/// Writes man/man1/*.1 and bash-completion/completions/swarm below the folder.
int manual(const ManualOptions& options);

/// Returns the source of the manual page, for man(7).
std::string manual_page(const VerbText& verb);

/// Returns the completion of `swarm` for bash.
std::string bash_completion(const VerbText& swarm);

}  // namespace swarm::cli
