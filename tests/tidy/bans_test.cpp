// Calls that stay out of the sources, and what is used in their place.
#include "tests/tidy/source_tree.hpp"

#include <gtest/gtest.h>

#include <regex>

namespace swarm::tidy {
namespace {

struct Ban {
    const char* word;   // in each match; most lines lack it, and a search for it costs little
    const char* token;  // a regular expression
    const char* instead;
    Folders allowed_in;
};

const std::vector<Ban>& bans() {
    // Real time, real threads and the environment end at the edge of the program.
    static const Folders edge = {"swarm/net", "swarm/http", "swarm/cli", "tests"};
    static const Folders edge_and_torch = {
        "swarm/net", "swarm/http", "swarm/cli", "tests", "stages/torch"};
    static const Folders coroutines = {"swarm/net", "swarm/http", "tests"};
    static const std::vector<Ban> bans = {
        {"_clock",
         "(system|steady|high_resolution)_clock",
         "the TimePoint that on() is given",
         edge},
        {"sleep",
         "\\b(usleep|nanosleep|sleep_for|sleep_until)\\b",
         "a deadline; in tests, wait for the event",
         {}},
        {"random_device", "\\brandom_device\\b", "Rng, seeded by the owner", edge},
        {"shuffle", "std::shuffle\\b", "Rng: std::shuffle differs between libraries", {}},
        {"_distribution",
         "std::\\w+_distribution\\b",
         "Rng: distributions differ between libraries",
         {}},
        {"mt19937", "std::mt19937", "Rng", {}},
        {"random_engine", "std::default_random_engine\\b", "Rng", {}},
        {"thread", "std::j?thread\\b", "a Compute action", edge},
        {"async", "std::async\\b", "a Compute action", edge},
        {"getenv", "\\b(secure_)?getenv\\b", "a field of the configuration", edge_and_torch},
        {"unordered_",
         "std::unordered_",
         "std::map: decisions must not depend on a hash",
         edge_and_torch},
        {"co_", "\\bco_(await|return|yield)\\b", "a state of the role", coroutines},
        {"assert", "\\bassert\\(", "SWARM_ASSERT for a bug, an Error for anything else", {}},
    };
    return bans;
}

TEST(Tidy, BannedCallsStayOut) {
    std::vector<std::regex> tokens;
    for (const Ban& ban : bans()) {
        tokens.emplace_back(ban.token);
    }
    for (const SourceFile& file : source_files()) {
        const SourceFile code = make_source(file.path, code_of(file.text));
        for (std::size_t b = 0; b < tokens.size(); ++b) {
            const Ban& ban = bans()[b];
            for (std::size_t i = 0; i < code.lines.size() && !is_in_any(file, ban.allowed_in);
                 ++i) {
                const std::string& line = code.lines[i];
                const bool may_match = line.find(ban.word) != std::string::npos;
                EXPECT_FALSE(may_match && std::regex_search(line, tokens[b]))
                    << place(file, i + 1) << file.lines[i] << "\nuse " << ban.instead;
            }
        }
    }
}

}  // namespace
}  // namespace swarm::tidy
