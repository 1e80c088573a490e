#include "tests/tidy/source_tree.hpp"

#include "tests/places.hpp"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <regex>
#include <sstream>
#include <utility>

namespace swarm::tidy {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kFolders[] = {
    "swarm", "stages", "router", "compression", "stacking", "sim", "tests"};

std::string read_text(const fs::path& path) {
    std::ifstream in(path, std::ios::binary);
    std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
    if (!in) {
        std::cerr << "cannot read " << path << '\n';
        std::abort();
    }
    return text;
}

template <class Wanted>
std::vector<SourceFile> read_tree(Wanted wanted) {
    const fs::path root = swarm::test::source_dir();
    std::vector<SourceFile> files;
    for (const std::string_view folder : kFolders) {
        for (const auto& entry : fs::recursive_directory_iterator(root / folder)) {
            if (entry.is_regular_file() && wanted(entry.path())) {
                files.push_back(make_source(
                    entry.path().lexically_relative(root).generic_string(), read_text(entry.path())
                ));
            }
        }
    }
    std::sort(files.begin(), files.end(), [](const SourceFile& a, const SourceFile& b) {
        return a.path < b.path;
    });
    return files;
}

/// Blanks one comment or literal after the other.
class Blanker {
 public:
    explicit Blanker(std::string_view text) : text_(text), code_(text) {}

    std::string run() {
        while (at_ < text_.size()) {
            if (starts_with("//")) {
                blank_until("\n", 0);
            } else if (starts_with("/*")) {
                blank_until("*/", 2);
            } else if (starts_with("R\"") && !follows_word()) {
                blank_raw_string();
            } else if (text_[at_] == '"' || (text_[at_] == '\'' && !follows_word())) {
                blank_quoted(text_[at_]);
            } else {
                ++at_;
            }
        }
        return code_;
    }

 private:
    [[nodiscard]] bool starts_with(std::string_view token) const {
        return text_.substr(at_).starts_with(token);
    }

    /// Tells 1'000 and a name that ends with R from the begin of a literal.
    [[nodiscard]] bool follows_word() const {
        return at_ > 0 && std::isalnum(static_cast<unsigned char>(text_[at_ - 1])) != 0;
    }

    void blank_to(std::size_t end) {
        for (; at_ < std::min(end, text_.size()); ++at_) {
            if (text_[at_] != '\n') {
                code_[at_] = ' ';
            }
        }
    }

    void blank_until(std::string_view token, std::size_t of_token) {
        const std::size_t found = text_.find(token, at_ + 2);
        blank_to(found == std::string_view::npos ? text_.size() : found + of_token);
    }

    void blank_raw_string() {
        const std::size_t open = text_.find('(', at_);
        const std::string close = ")" + std::string(text_.substr(at_ + 2, open - at_ - 2)) + "\"";
        blank_until(close, close.size());
    }

    void blank_quoted(char quote) {
        std::size_t end = at_ + 1;
        while (end < text_.size() && text_[end] != quote && text_[end] != '\n') {
            end += text_[end] == '\\' ? 2U : 1U;
        }
        ++at_;  // the quotes stay
        blank_to(end);
        ++at_;
    }

    std::string_view text_;
    std::string code_;
    std::size_t at_ = 0;
};

/// Preprocessor lines hold braces that belong to no scope.
void blank_directives(std::string& code) {
    bool continued = false;
    for (std::size_t begin = 0; begin < code.size();) {
        const std::size_t end = std::min(code.find('\n', begin), code.size());
        const std::size_t first = code.find_first_not_of(' ', begin);
        const bool directive = continued || (first < end && code[first] == '#');
        continued = directive && end > begin && code[end - 1] == '\\';
        if (directive) {
            std::fill(
                code.begin() + static_cast<std::ptrdiff_t>(begin),
                code.begin() + static_cast<std::ptrdiff_t>(end),
                ' '
            );
        }
        begin = end + 1;
    }
}

std::string without_template_head(const std::string& head) {
    const std::size_t open = head.find("template <");
    if (open == std::string::npos) {
        return head;
    }
    int depth = 0;
    for (std::size_t at = head.find('<', open); at < head.size(); ++at) {
        depth += head[at] == '<' ? 1 : head[at] == '>' ? -1 : 0;
        if (depth == 0) {
            return without_template_head(head.substr(at + 1));
        }
    }
    return head;
}

/// Splits code into scopes by its braces.
class FunctionScanner {
 public:
    explicit FunctionScanner(std::string code) : code_(std::move(code)) {}

    std::vector<Function> run() {
        for (std::size_t at = 0; at < code_.size(); ++at) {
            const char c = code_[at];
            if (c == '{') {
                open();
            } else if (c == '}') {
                close();
            } else if (c == ';' && inside_ == 0) {
                head_.clear();
            } else if (inside_ == 0 && (c != ' ' || !head_.empty())) {
                extend_head(c);
            }
            line_ += c == '\n' ? 1U : 0U;
        }
        return std::move(functions_);
    }

 private:
    void extend_head(char c) {
        if (head_.empty() && c != '\n') {
            head_line_ = line_;
        }
        if (!head_.empty() || c != '\n') {
            head_ += c;
        }
    }

    /// Scopes that hold functions are entered; anything else is skipped to its end.
    void open() {
        static const std::regex container(
            R"(^\s*(inline\s+)?(namespace|class|struct|union|enum|extern)\b[^()]*$)"
        );
        if (inside_ == 0 && std::regex_search(without_template_head(head_), container)) {
            head_.clear();
            return;
        }
        ++inside_;
    }

    void close() {
        if (inside_ == 0) {
            head_.clear();
            return;
        }
        if (--inside_ > 0) {
            return;
        }
        const std::size_t parameters = head_.find('(');
        if (parameters != std::string::npos) {
            functions_.push_back({head_.substr(0, parameters), head_line_, line_});
        }
        head_.clear();
    }

    std::string code_;
    std::vector<Function> functions_;
    std::string head_;  // text read since the last end of a statement or scope
    std::size_t head_line_ = 1;
    std::size_t line_ = 1;
    std::size_t inside_ = 0;  // braces open below the scopes that hold functions
};

}  // namespace

SourceFile make_source(std::string path, std::string text) {
    SourceFile file{std::move(path), std::move(text), {}};
    std::istringstream in(file.text);
    for (std::string line; std::getline(in, line);) {
        file.lines.push_back(line);
    }
    return file;
}

const std::vector<SourceFile>& source_files() {
    static const auto files = read_tree([](const fs::path& path) {
        const auto extension = path.extension();
        return extension == ".hpp" || extension == ".cpp" || extension == ".cu";
    });
    return files;
}

const std::vector<SourceFile>& build_files() {
    static const auto files =
        read_tree([](const fs::path& path) { return path.filename() == "CMakeLists.txt"; });
    return files;
}

bool is_in_any(const SourceFile& file, const Folders& folders) {
    return std::any_of(folders.begin(), folders.end(), [&](const std::string& folder) {
        return file.is_below(folder);
    });
}

std::string place(const SourceFile& file, std::size_t line) {
    return file.path + ":" + std::to_string(line) + ": ";
}

std::vector<Include> includes_of(const SourceFile& file) {
    static const std::regex directive(R"(^\s*#\s*include\s*(["<])([^">]+)[">])");
    std::vector<Include> includes;
    for (std::size_t i = 0; i < file.lines.size(); ++i) {
        std::smatch match;
        if (std::regex_search(file.lines[i], match, directive)) {
            includes.push_back({match[2], match[1] == "\"", i + 1});
        }
    }
    return includes;
}

std::string code_of(std::string_view text) {
    return Blanker(text).run();
}

std::vector<Function> functions_of(const SourceFile& file) {
    std::string code = code_of(file.text);
    blank_directives(code);
    return FunctionScanner(std::move(code)).run();
}

}  // namespace swarm::tidy
