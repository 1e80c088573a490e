// The house rules that a compiler does not check, over the whole source tree.
#include "tests/tidy/source_tree.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <regex>
#include <set>

namespace swarm::tidy {
namespace {

constexpr std::size_t kColumnsMax = 100;
constexpr std::size_t kFileLinesMax = 450;
constexpr std::size_t kFunctionLinesMax = 70;
constexpr std::size_t kOpeningCommentLinesMax = 12;

/// Its opening comment is the contract between roles and hosts, clause by clause.
constexpr std::string_view kContract = "swarm/node/role.hpp";

/// The modules that a module may include besides itself; the order is that of the root
/// CMakeLists.txt. Everything may be seen by swarm/cli and tests, which put the parts together.
const std::map<std::string, Folders, std::less<>> kVisibleTo = {
    {"swarm/base", {}},
    {"swarm/data", {"swarm/base"}},
    {"swarm/protocol", {"swarm/base"}},
    {"swarm/node", {"swarm/base", "swarm/protocol"}},
    {"compression/simd", {"swarm/base"}},
    {"compression", {"swarm/base", "swarm/protocol", "compression/simd"}},
    {"compression/cuda", {"swarm/base", "compression", "compression/simd"}},
    {"router", {"swarm/base", "swarm/protocol", "swarm/node"}},
    {"swarm/run", {"swarm/base", "swarm/protocol", "swarm/node", "compression", "router"}},
    {"swarm/coordinator",
     {"swarm/base", "swarm/protocol", "swarm/node", "compression", "router", "swarm/run"}},
    {"stages/compute", {"swarm/base", "swarm/protocol", "swarm/node", "compression", "swarm/run"}},
    {"stages/worker",
     {"swarm/base", "swarm/protocol", "swarm/node", "compression", "swarm/run", "stages/compute"}},
    {"stages/files", {"swarm/base", "swarm/protocol", "swarm/node", "swarm/run", "stages/worker"}},
    {"stages/server",
     {"swarm/base",
      "swarm/protocol",
      "swarm/node",
      "compression",
      "router",
      "swarm/run",
      "stages/compute",
      "stages/worker",
      "stages/files"}},
    {"stages/single",
     {"swarm/base",
      "swarm/protocol",
      "swarm/node",
      "compression",
      "swarm/run",
      "stages/compute",
      "stages/worker",
      "stages/files"}},
    {"stages/torch",
     {"swarm/base",
      "compression",
      "compression/cuda",
      "swarm/run",
      "stages/compute",
      "stages/torch/library"}},
    {"stages/torch/library", {"swarm/base", "swarm/run", "stages/compute"}},
    {"stacking",
     {"swarm/base", "swarm/protocol", "swarm/node", "compression", "router", "swarm/run"}},
    {"stacking/blocks", {"swarm/base"}},
    {"stacking/models",
     {"swarm/base",
      "swarm/protocol",
      "swarm/run",
      "stages/files",
      "stages/worker",
      "stacking/blocks"}},
    {"stacking/tokenizers/jinja", {"swarm/base"}},
    {"stacking/tokenizers",
     {"swarm/base", "stages/files", "stacking/models", "stacking/tokenizers/jinja"}},
    {"stacking/kernels", {"swarm/base", "stacking/blocks"}},
    {"stacking/llama",
     {"swarm/base",
      "swarm/run",
      "stacking",
      "stacking/blocks",
      "stacking/models",
      "stacking/kernels"}},
    {"stacking/composition",
     {"swarm/base",
      "swarm/protocol",
      "swarm/run",
      "stages/compute",
      "stages/worker",
      "stages/files",
      "stacking"}},
    {"stacking/sharing", {"swarm/base", "swarm/protocol", "swarm/node"}},
    {"stacking/sessions",
     {"swarm/base",
      "swarm/protocol",
      "swarm/node",
      "router",
      "stages/compute",
      "stacking",
      "stacking/composition",
      "stacking/sharing"}},
    {"stacking/api",
     {"swarm/base",
      "swarm/protocol",
      "swarm/node",
      "stacking",
      "stacking/sessions",
      "stacking/tokenizers",
      "stacking/tokenizers/jinja"}},
    // The two hosts know roles as Role and nothing more, and not each other.
    {"sim", {"swarm/base", "swarm/protocol", "swarm/node"}},
    {"swarm/net", {"swarm/base", "swarm/protocol", "swarm/node"}},
    {"swarm/http", {"swarm/base", "swarm/protocol", "swarm/node", "swarm/net"}},
    {"sim/scenario", {"swarm/base", "swarm/protocol", "swarm/node", "router", "swarm/run", "sim"}},
    {"sim/report", {"swarm/base", "sim/scenario"}},
    {"sim/fluid",
     {"swarm/base",
      "swarm/protocol",
      "swarm/node",
      "router",
      "swarm/run",
      "swarm/coordinator",
      "sim",
      "sim/scenario",
      "sim/report"}},
    // Worlds of whole runs, put together from the roles above.
    {"sim/run",
     {"swarm/base",
      "swarm/protocol",
      "swarm/node",
      "compression",
      "router",
      "swarm/run",
      "swarm/coordinator",
      "stages/compute",
      "stages/worker",
      "stages/files",
      "stages/server",
      "stages/single",
      "stacking",
      "sim",
      "sim/scenario",
      "sim/report",
      "sim/fluid"}},
};

bool may_see_everything(const std::string& module) {
    return module == "swarm/cli" || module == "tests";
}

/// "stages/torch/x.hpp" -> "stages/torch": the longest known folder; empty when there is none.
std::string module_of(std::string_view path) {
    std::string found;
    for (const std::string_view known : {"swarm/cli", "tests"}) {
        if (path.starts_with(std::string(known) + "/")) {
            found = known;
        }
    }
    for (const auto& [module, visible] : kVisibleTo) {
        if (path.starts_with(module + "/") && module.size() > found.size()) {
            found = module;
        }
    }
    return found;
}

TEST(Tidy, EveryFileBelongsToAModule) {
    for (const SourceFile& file : source_files()) {
        EXPECT_NE(module_of(file.path), "")
            << file.path << ": give its folder a row in the table of visible modules";
    }
}

TEST(Tidy, IncludesPointDown) {
    for (const SourceFile& file : source_files()) {
        const std::string from = module_of(file.path);
        if (may_see_everything(from) || from.empty()) {
            continue;
        }
        for (const Include& include : includes_of(file)) {
            const std::string to = module_of(include.path);
            const bool generated = include.path.ends_with(".pb.h");
            if (include.quoted && !generated && to != from) {
                EXPECT_TRUE(kVisibleTo.at(from).contains(to))
                    << place(file, include.line) << from << " must not see " << include.path;
            }
        }
    }
}

/// The rooms of swarm/cli that a room may include besides itself and the low ones (level_of_cli).
const std::map<std::string, Folders, std::less<>>& rooms_of_cli() {
    static const std::map<std::string, Folders, std::less<>> rooms = {
        {"terminal", {}},      {"compute", {}},
        {"common", {}},        {"owners", {}},
        {"answer", {}},        {"metrics", {}},
        {"web", {}},           {"train", {"metrics", "web"}},
        {"serve", {"answer"}}, {"directory", {}},
        {"key", {}},           {"generate", {"answer"}},
        {"chat", {"answer"}},  {"local", {"answer", "api", "web"}},
        {"plan", {}},          {"plot", {"metrics"}},
        {"sim", {}},           {"model", {"answer"}},
        {"stack", {"answer"}}, {"api", {"answer"}},
        {"doctor", {}},        {"manual", {}},
        {"setup", {}},         {"eval", {"answer"}},
        {"data", {"answer"}},  {"runs", {"metrics", "train"}},
        {"status", {}},        {"judge", {"answer", "eval", "train", "runs", "plot", "stack"}},
    };
    return rooms;
}

/// "swarm/cli/train/train.hpp" -> "train"; empty for a file of no room.
std::string room_of_cli(std::string_view path) {
    constexpr std::string_view kFolder = "swarm/cli/";
    const std::size_t end = path.find('/', kFolder.size());
    if (!path.starts_with(kFolder) || end == std::string_view::npos) {
        return "";
    }
    return std::string(path.substr(kFolder.size(), end - kFolder.size()));
}

/// The rooms that serve all others come first, and each may see those before it.
std::size_t level_of_cli(std::string_view room) {
    constexpr std::array<std::string_view, 5> kLow = {
        "terminal", "compute", "common", "owners", "setup"};
    return static_cast<std::size_t>(std::find(kLow.begin(), kLow.end(), room) - kLow.begin());
}

TEST(Tidy, VerbsDoNotIncludeEachOther) {
    for (const SourceFile& file : source_files()) {
        const std::string from = room_of_cli(file.path);
        if (from.empty()) {
            continue;  // such as swarm/cli/command_line.cpp, which lists all verbs
        }
        const auto row = rooms_of_cli().find(from);
        ASSERT_NE(row, rooms_of_cli().end()) << file.path << ": give its room a row in the table";
        for (const Include& include : includes_of(file)) {
            const std::string to = room_of_cli(include.path);
            const bool below = level_of_cli(to) < level_of_cli(from);
            if (include.path.starts_with("swarm/cli/") && to != from && !below) {
                EXPECT_TRUE(row->second.contains(to))
                    << place(file, include.line) << from << " must not see " << include.path;
            }
        }
    }
}

TEST(Tidy, ForeignHeadersStayWhereTheyBelong) {
    struct Rule {
        std::regex header;
        Folders folders;
    };

    const Rule rules[] = {
        {std::regex("^(ATen|c10|torch|caffe2)/"), {"stages/torch", "tests/torch"}},
        {std::regex("^boost/(asio|beast)"),
         {"swarm/net",
          "swarm/http",
          "swarm/cli",
          "tests/unit/net",
          "tests/conformance",
          "tests/fuzz",
          "tests/process",
          "tests/support",
          "tests/bench"}},
        {std::regex("\\.pb\\.h$"), {"swarm/protocol", "tests/unit/protocol", "tests/fuzz"}},
        {std::regex("^google/protobuf"), {"swarm/protocol", "tests/unit/protocol", "tests/fuzz"}},
        {std::regex("^msgpack"), {"swarm/protocol", "tests/unit/protocol", "tests/fuzz"}},
        {std::regex("^CLI/"), {"swarm/cli", "tests/bench"}},
        {std::regex("^qrencode"), {"swarm/cli/owners"}},
        {std::regex("^(zstd|zdict)"),
         {"compression",
          "swarm/data",
          "tests/unit/compression",
          "tests/unit/data",
          "tests/fuzz",
          "tests/golden"}},
        {std::regex("^(zlib|snappy)"), {"swarm/data", "tests/unit/data"}},
        {std::regex("^cuda"),
         {"compression/cuda", "stages/torch/cuda", "tests/unit/compression_cuda"}},
        {std::regex("^pcre2"), {"stacking/tokenizers"}},
        {std::regex("^sentencepiece_"), {"stacking/tokenizers"}},
        {std::regex("^utf8proc"), {"stacking/tokenizers"}},
        {std::regex("^toml"),
         {"swarm/run", "swarm/data", "swarm/cli", "sim/scenario", "stacking/composition"}},
    };
    for (const SourceFile& file : source_files()) {
        for (const Include& include : includes_of(file)) {
            for (const Rule& rule : rules) {
                if (std::regex_search(include.path, rule.header)) {
                    EXPECT_TRUE(is_in_any(file, rule.folders))
                        << place(file, include.line) << include.path << " is not for this module";
                }
            }
        }
    }
}

std::size_t columns_of(const std::string& line) {
    return static_cast<std::size_t>(std::count_if(line.begin(), line.end(), [](char c) {
        return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;  // continues a UTF-8 character
    }));
}

TEST(Tidy, LinesFitAHundredColumnsWithoutTabsAndTrailingSpace) {
    for (const SourceFile& file : source_files()) {
        for (std::size_t i = 0; i < file.lines.size(); ++i) {
            const std::string& line = file.lines[i];
            EXPECT_LE(columns_of(line), kColumnsMax) << place(file, i + 1);
            EXPECT_EQ(line.find('\t'), std::string::npos) << place(file, i + 1) << "a tab";
            EXPECT_FALSE(line.ends_with(' ') || line.ends_with('\r')) << place(file, i + 1);
        }
        EXPECT_TRUE(file.text.ends_with('\n')) << file.path << ": no newline at the end";
    }
}

TEST(Tidy, FilesAreShort) {
    for (const SourceFile& file : source_files()) {
        EXPECT_LE(file.lines.size(), kFileLinesMax) << file.path;
    }
}

TEST(Tidy, FunctionsAreShort) {
    for (const SourceFile& file : source_files()) {
        for (const Function& function : functions_of(file)) {
            EXPECT_LE(function.lines(), kFunctionLinesMax)
                << place(file, function.first_line) << function.name;
        }
    }
}

TEST(Tidy, HeadersSayWhatTheyAreAndAreGuarded) {
    for (const SourceFile& file : source_files()) {
        if (!file.is_header()) {
            continue;
        }
        const auto comment_end =
            std::find_if_not(file.lines.begin(), file.lines.end(), [](const std::string& line) {
                return line.starts_with("//");
            });
        const auto comment_lines = static_cast<std::size_t>(comment_end - file.lines.begin());
        EXPECT_GE(comment_lines, 1U) << file.path << ": begins without a comment";
        EXPECT_TRUE(comment_lines <= kOpeningCommentLinesMax || file.path == kContract)
            << file.path << ": " << comment_lines << " lines of opening comment";
        EXPECT_TRUE(comment_end != file.lines.end() && *comment_end == "#pragma once")
            << file.path << ": #pragma once does not follow the opening comment";
    }
}

/// Whether a CMakeLists.txt in the file's folder or above names it.
bool is_built(const SourceFile& file) {
    return std::any_of(build_files().begin(), build_files().end(), [&](const SourceFile& build) {
        const std::string folder = build.path.substr(0, build.path.rfind('/'));
        if (!file.is_below(folder)) {
            return false;
        }
        const std::string name = file.path.substr(folder.size() + 1);
        const std::regex word(
            "(^|[\\s(\"/])" + std::regex_replace(name, std::regex("\\."), "\\.") + "($|[\\s)\"])"
        );
        return std::regex_search(build.text, word);
    });
}

TEST(Tidy, EverySourceIsBuilt) {
    for (const SourceFile& file : source_files()) {
        if (!file.is_header()) {
            EXPECT_TRUE(is_built(file)) << file.path << " is in no CMakeLists.txt";
        }
    }
}

TEST(Tidy, LeftoversNameAnIssue) {
    // In two parts, so that this file passes its own test.
    const std::regex leftover(
        std::string("\\b(TO") + "DO(?!\\(#[0-9]+\\))|FIX" + "ME|XX" + "X)\\b"
    );
    for (const SourceFile& file : source_files()) {
        for (std::size_t i = 0; i < file.lines.size(); ++i) {
            EXPECT_FALSE(std::regex_search(file.lines[i], leftover))
                << place(file, i + 1) << file.lines[i];
        }
    }
}

}  // namespace
}  // namespace swarm::tidy
