// Reads the source tree for the rules of its neighbours: files, includes, functions, code without
// comments and literals. Knows just enough C++ for code that clang-format has laid out.
// Errors: a file that cannot be read ends the test.
#pragma once

#include <cstddef>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace swarm::tidy {

struct SourceFile {
    std::string path;  // from the root of the repository, with '/'
    std::string text;
    std::vector<std::string> lines;  // without the newline

    [[nodiscard]] bool is_header() const { return path.ends_with(".hpp"); }

    [[nodiscard]] bool is_below(std::string_view folder) const {
        return path.size() > folder.size() && path.starts_with(folder) &&
               path[folder.size()] == '/';
    }
};

using Folders = std::set<std::string, std::less<>>;

bool is_in_any(const SourceFile& file, const Folders& folders);

/// "path:line: " for messages; lines count from 1.
std::string place(const SourceFile& file, std::size_t line);

/// A file with this path and text; for tests of the rules.
SourceFile make_source(std::string path, std::string text);

/// Every .hpp, .cpp and .cu below the folders of the source tree, in order of path.
const std::vector<SourceFile>& source_files();
/// Every CMakeLists.txt, in order of path.
const std::vector<SourceFile>& build_files();

struct Include {
    std::string path;
    bool quoted = false;
    std::size_t line = 0;  // counts from 1
};

std::vector<Include> includes_of(const SourceFile& file);

/// The text with comments and the insides of literals blanked out; same lines, same columns.
std::string code_of(std::string_view text);

struct Function {
    std::string name;  // the text before its parameters
    std::size_t first_line = 0;
    std::size_t last_line = 0;

    [[nodiscard]] std::size_t lines() const { return last_line - first_line + 1; }
};

/// Function definitions at namespace and class scope; a lambda counts with its function.
std::vector<Function> functions_of(const SourceFile& file);

}  // namespace swarm::tidy
