// The table of sim/scenarios/README.md has exactly the keys that a scenario file may have. The
// parser itself says which ones these are, where it refuses an unknown key.
#include "sim/scenario/scenario.hpp"
#include "tests/places.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <regex>
#include <set>
#include <sstream>
#include <string>

namespace sim {
namespace {

using Keys = std::set<std::string>;

std::string refusal_of(const std::string& toml) {
    const auto scenario = parse_scenario(toml, "s.toml");
    return scenario.has_error() ? scenario.error().detail : "";
}

/// The refusal_of of an unknown key below `header`, in a scenario that is right but for that key.
std::string refusal_in(const std::string& header) {
    // The default has four stages, so it needs four peers.
    const std::string peers =
        header.find("peers") == std::string::npos ? "[[peers]]\ncount = 4\n" : "";
    std::string toml = header + "nonsense = 1\n";
    std::string text = refusal_of(toml + peers);
    const std::regex missing(R"(.*\.(\w+) is missing.*)");
    for (std::smatch found; std::regex_match(text, found, missing);
         text = refusal_of(toml + peers)) {
        toml += found.str(1) + " = 1\n";
    }
    return text;
}

/// Adds the keys of the table at `path` and of all tables in it. False when `path` is no table.
bool add_known_keys(const std::string& path, Keys& keys) {
    const std::string prefix = path.empty() ? "" : path + ".";
    const std::regex unknown(".*: " + prefix + R"(nonsense is unknown; .* has ([\w, ]+))");
    std::smatch found;
    std::string text;
    for (const std::size_t brackets : {1, 2}) {  // a table, or a list of tables
        const std::string header =
            std::string(brackets, '[') + path + std::string(brackets, ']') + "\n";
        text = refusal_in(path.empty() ? "" : header);
        if (std::regex_match(text, found, unknown)) {
            break;
        }
    }
    if (found.empty()) {
        return false;
    }
    std::istringstream list(found.str(1));
    for (std::string name; std::getline(list >> std::ws, name, ',');) {
        if (!add_known_keys(prefix + name, keys)) {
            keys.insert(prefix + name);
        }
    }
    return true;
}

/// The keys in backticks of the first column.
Keys keys_of_readme() {
    std::ifstream readme(swarm::test::source_dir() + "/sim/scenarios/README.md");
    Keys keys;
    bool inside = false;
    const std::regex row(R"(\| `([\w.]+)` \|.*)");
    for (std::string line; std::getline(readme, line);) {
        inside = line.starts_with("| key |") || (inside && line.starts_with("|"));
        if (std::smatch found; inside && std::regex_match(line, found, row)) {
            EXPECT_TRUE(keys.insert(found[1]).second) << found[1] << " has two rows";
        }
    }
    return keys;
}

TEST(ScenariosReadme, HasEveryKeyOfTheParserAndNoOther) {
    Keys known;
    ASSERT_TRUE(add_known_keys("", known)) << refusal_of("nonsense = 1\n");
    EXPECT_TRUE(known.contains("faults.freeze.length_s"));
    const Keys documented = keys_of_readme();
    for (const std::string& key : known) {
        EXPECT_TRUE(documented.contains(key)) << "sim/scenarios/README.md lacks " << key;
    }
    for (const std::string& key : documented) {
        EXPECT_TRUE(known.contains(key))
            << "sim/scenarios/README.md has " << key << ", which the parser does not know";
    }
}

}  // namespace
}  // namespace sim
