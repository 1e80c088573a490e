#include "results_commands.hpp"

#include "swarm/cli/command_line.hpp"
#include "tests/bench/command_line.hpp"

#include <array>
#include <cstdio>
#include <fnmatch.h>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <sys/wait.h>
#include <variant>

namespace swarm::test {
namespace {

namespace fs = std::filesystem;

using Words = std::vector<std::string>;

std::string read(const fs::path& file) {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

std::vector<const char*> arguments_of(const Words& words) {
    std::vector<const char*> arguments;
    for (const std::string& word : words) {
        arguments.push_back(word.c_str());
    }
    return arguments;
}

Fault bench_usage_fault(const Words& words) {
    const std::vector<const char*> arguments = arguments_of(words);
    const bench::BenchCommand command =
        bench::parse_bench_command_line(static_cast<int>(arguments.size()), arguments.data());
    const auto* const exit = std::get_if<bench::BenchExit>(&command);
    return exit == nullptr ? Fault() : Fault(exit->text);
}

/// Maps each target that a CMakeLists.txt below tests/ makes with swarm_add_test to its sources.
std::map<std::string, std::vector<fs::path>> test_targets(const fs::path& root) {
    static const std::regex call("swarm_add_test\\(\\s*(\\w+)([^)]*)\\)");
    static const std::regex source("[^\\s\"]+\\.cpp");
    std::map<std::string, std::vector<fs::path>> targets;
    for (const auto& entry : fs::recursive_directory_iterator(root / "tests")) {
        if (entry.path().filename() != "CMakeLists.txt") {
            continue;
        }
        const std::string text = read(entry.path());
        for (std::sregex_iterator i(text.begin(), text.end(), call), end; i != end; ++i) {
            const std::string sources = (*i)[2];
            std::vector<fs::path>& files = targets[(*i)[1].str() + "_test"];
            for (std::sregex_iterator j(sources.begin(), sources.end(), source); j != end; ++j) {
                if (j->str().find('$') == std::string::npos) {
                    files.push_back(entry.path().parent_path() / j->str());
                }
            }
        }
    }
    return targets;
}

/// Lists names as --gtest_list_tests does. A test with parameters is listed with the first two.
std::vector<std::string> test_names(const std::vector<fs::path>& sources) {
    static const std::regex test("\\bTEST(_F|_P)?\\(\\s*(\\w+),\\s*(\\w+)\\s*\\)");
    static const std::regex instance("INSTANTIATE_TEST_SUITE_P\\(\\s*(\\w+),\\s*(\\w+)");
    std::multimap<std::string, std::string> prefixes;  // by suite
    std::vector<std::array<std::string, 3>> tests;
    for (const fs::path& source : sources) {
        const std::string text = read(source);
        for (std::sregex_iterator i(text.begin(), text.end(), instance), end; i != end; ++i) {
            prefixes.emplace((*i)[2], (*i)[1]);
        }
        for (std::sregex_iterator i(text.begin(), text.end(), test), end; i != end; ++i) {
            tests.push_back({(*i)[1], (*i)[2], (*i)[3]});
        }
    }
    std::vector<std::string> names;
    for (const auto& [kind, suite, name] : tests) {
        const std::string full = suite + "." + name;
        if (kind != "_P") {
            names.push_back(full);
            continue;
        }
        const auto [first, last] = prefixes.equal_range(suite);
        for (auto prefix = first; prefix != last; ++prefix) {
            names.push_back(prefix->second + "/" + full + "/0");
            names.push_back(prefix->second + "/" + full + "/1");
        }
    }
    return names;
}

bool finds_one(const std::string& pattern, const std::vector<std::string>& names) {
    for (const std::string& name : names) {
        if (fnmatch(pattern.c_str(), name.c_str(), 0) == 0) {
            return true;
        }
    }
    return false;
}

Fault test_fault(const fs::path& root, const Words& words) {
    const auto targets = test_targets(root);
    const auto target = targets.find(words.front());
    if (target == targets.end()) {
        return "no CMakeLists.txt below tests/ builds " + words.front();
    }
    constexpr std::string_view kFilter = "--gtest_filter=";
    const std::vector<std::string> names = test_names(target->second);
    for (std::size_t i = 1; i < words.size(); ++i) {
        if (!words[i].starts_with(kFilter)) {
            return words[i] + " is no filter of tests";
        }
        if (!finds_one(words[i].substr(kFilter.size()), names)) {
            return words[i] + " finds no test in " + words.front();
        }
    }
    return std::nullopt;
}

Fault script_fault(const fs::path& root, const Words& words) {
    const std::string text = read(root / "swarm.sh");
    const std::string usage = text.substr(0, text.find("\nUSAGE\n"));
    if (words.size() < 2 || usage.find("./swarm.sh " + words[1] + " ") == std::string::npos) {
        return "the usage text of swarm.sh has no such verb";
    }
    for (std::size_t i = 2; i < words.size(); ++i) {
        if (usage.find("  " + words[i] + " ") == std::string::npos) {
            return "the usage text of swarm.sh has no " + words[i];
        }
    }
    return std::nullopt;
}

Fault baseline_fault(const fs::path& root, const Words& words) {
    if (words.size() < 2 || !words[1].starts_with("tests/bench/baselines/") ||
        !fs::is_regular_file(root / words[1])) {
        return "python3 is for the files of tests/bench/baselines";
    }
    return std::nullopt;
}

struct Ended {
    int code = -1;
    std::string out;
};

/// Runs git below `root`. The arguments have no quotes.
Ended git(const fs::path& root, const std::string& arguments) {
    const std::string command = "git -C '" + root.string() + "' " + arguments + " 2>&1";
    Ended ended;
    std::FILE* const pipe = popen(command.c_str(), "r");
    if (pipe == nullptr) {
        return ended;
    }
    std::array<char, 256> buffer{};
    while (std::fgets(buffer.data(), buffer.size(), pipe) != nullptr) {
        ended.out += buffer.data();
    }
    const int status = pclose(pipe);
    ended.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    return ended;
}

}  // namespace

std::vector<std::string> words_of(const std::string& command) {
    Words words;
    bool in_word = false;
    char quote = '\0';
    for (const char c : command) {
        if (quote != '\0' && c == quote) {
            quote = '\0';
        } else if (quote == '\0' && c == ' ') {
            in_word = false;
        } else {
            if (!in_word) {
                words.emplace_back();
                in_word = true;
            }
            if (quote == '\0' && (c == '\'' || c == '"')) {
                quote = c;
            } else {
                words.back() += c;
            }
        }
    }
    return words;
}

Fault swarm_usage_fault(const std::vector<std::string>& words) {
    return cli::usage_error({words.begin() + 1, words.end()});
}

Fault command_fault(const fs::path& root, const std::string& command) {
    const Words words = words_of(command);
    if (words.empty()) {
        return "there is no command";
    }
    const std::string& program = words.front();
    if (program == "swarm") {
        return swarm_usage_fault(words);
    }
    if (program == "swarm-bench") {
        return bench_usage_fault(words);
    }
    if (program == "./swarm.sh") {
        return script_fault(root, words);
    }
    if (program == "python3") {
        return baseline_fault(root, words);
    }
    if (program.ends_with("_test")) {
        return test_fault(root, words);
    }
    return program + " is no program of this repository";
}

Fault history_fault(const fs::path& root) {
    const Ended ended = git(root, "rev-parse --is-shallow-repository");
    if (ended.code != 0) {
        return "git cannot read the history of " + root.string() +
               ", so the commits of RESULTS.md cannot be looked up: " + ended.out;
    }
    if (ended.out != "false\n") {
        return "this clone is shallow, so the commits of RESULTS.md cannot be looked up; "
               "`git fetch --unshallow` gets them";
    }
    return std::nullopt;
}

Fault commit_fault(const fs::path& root, const std::string& commit) {
    if (git(root, "cat-file -e " + commit + "^{commit}").code != 0) {
        return "the repository has no commit " + commit;
    }
    return std::nullopt;
}

}  // namespace swarm::test
