// The house rules about words and rooms: comments that open with a subject, folders that one can
// look over, documents that one can read. tests/tidy/house_counts.py prints the same counts.
#include "tests/places.hpp"
#include "tests/tidy/source_tree.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <string_view>

namespace swarm::tidy {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kFilesPerFolderMax = 40;

bool opens_without_subject(std::string_view comment) {
    static const std::regex opening("^///? +(of|who|whose|as|what)\\b", std::regex::icase);
    return std::regex_search(std::string(comment), opening);
}

/// The comment that begins on line `i`; empty where none does, or where it goes on from the line
/// before.
std::string comment_that_begins(const SourceFile& file, std::size_t i) {
    const auto whole_line = [&](std::size_t at) {
        const std::size_t first = file.lines[at].find_first_not_of(' ');
        return first != std::string::npos && file.lines[at].compare(first, 2, "//") == 0;
    };
    const std::string& line = file.lines[i];
    if (whole_line(i)) {
        return i > 0 && whole_line(i - 1) ? "" : line.substr(line.find_first_not_of(' '));
    }
    const std::size_t trailing = line.find("  // ");
    const bool in_text =
        trailing != std::string::npos &&
        std::count(line.begin(), line.begin() + static_cast<std::ptrdiff_t>(trailing), '"') % 2 !=
            0;
    return trailing == std::string::npos || in_text ? "" : line.substr(trailing + 2);
}

TEST(Prose, FindsCommentsThatOpenWithoutASubject) {
    const SourceFile file = make_source(
        "a.hpp",
        "// Of one joiner.\n// Of the next line.\n\nint a;  // as many as fit\nint b;  // bytes, "
        "of a\n"
    );
    EXPECT_TRUE(opens_without_subject(comment_that_begins(file, 0)));
    EXPECT_FALSE(opens_without_subject(comment_that_begins(file, 1)));  // goes on
    EXPECT_TRUE(opens_without_subject(comment_that_begins(file, 3)));
    EXPECT_FALSE(opens_without_subject(comment_that_begins(file, 4)));
    EXPECT_FALSE(opens_without_subject("// Often"));
    EXPECT_FALSE(opens_without_subject("/// Whatever"));
}

TEST(Prose, CommentsOpenWithASubject) {
    for (const SourceFile& file : source_files()) {
        for (std::size_t i = 0; i < file.lines.size(); ++i) {
            EXPECT_FALSE(opens_without_subject(comment_that_begins(file, i)))
                << file.path << ":" << i + 1 << ": " << file.lines[i]
                << "\nname the thing that the comment is about";
        }
    }
}

TEST(Prose, FoldersHoldAtMostFortyFiles) {
    std::map<std::string, std::size_t> files;
    for (const std::string_view top :
         {"swarm", "stages", "router", "compression", "stacking", "sim", "tests"}) {
        const fs::path root = test::source_dir();
        for (const auto& entry : fs::recursive_directory_iterator(root / top)) {
            if (entry.is_regular_file()) {
                ++files[entry.path().parent_path().lexically_relative(root).generic_string()];
            }
        }
    }
    for (const auto& [folder, count] : files) {
        EXPECT_LE(count, kFilesPerFolderMax) << folder << ": give some of its files a room";
    }
}

TEST(Prose, DocumentsAreShort) {
    const std::map<std::string, std::size_t> most = {
        {"README.md", 150}, {"ARCHITECTURE.md", 220}, {"CONTRIBUTING.md", 150}};
    for (const auto& [name, lines_max] : most) {
        std::ifstream in(fs::path(test::source_dir()) / name);
        std::size_t lines = 0;
        for (std::string line; std::getline(in, line);) {
            ++lines;
        }
        EXPECT_GT(lines, 0U) << name;
        EXPECT_LE(lines, lines_max) << name;
    }
}

/// A source begins with its own header, so that each header is compiled without others before it.
TEST(Prose, SourcesIncludeTheirOwnHeaderFirst) {
    std::set<std::string> headers;
    for (const SourceFile& file : source_files()) {
        if (file.is_header()) {
            headers.insert(file.path);
        }
    }
    for (const SourceFile& file : source_files()) {
        const std::string own = file.path.substr(0, file.path.rfind('.')) + ".hpp";
        const auto includes = includes_of(file);
        if (file.path.ends_with(".cpp") && headers.contains(own) && !includes.empty()) {
            EXPECT_TRUE(own.ends_with(includes.front().path))
                << file.path << " begins with " << includes.front().path;
        }
    }
}

}  // namespace
}  // namespace swarm::tidy
