#include "swarm/data/input_files.hpp"

#include "swarm/base/try.hpp"

#include <algorithm>
#include <cerrno>
#include <glob.h>
#include <set>
#include <string>
#include <sys/stat.h>
#include <system_error>
#include <utility>

namespace swarm::data {
namespace {

namespace fs = std::filesystem;

constexpr const char* kReadEndings = ".txt, .md, .jsonl, .jsonl.gz, .jsonl.zst, .parquet";

Error refused_ending(const fs::path& path) {
    return {
        ErrorCode::Unsupported,
        Reaction::Reject,
        path.string() + ": its ending is not read; read are " + kReadEndings};
}

Error not_found(const std::string& path, const std::string& why) {
    return {ErrorCode::NotFound, Reaction::Reject, path + ": " + why};
}

/// Returns all files below a folder, by name.
Result<std::vector<fs::path>> files_below(const fs::path& folder) {
    std::vector<fs::path> files;
    std::error_code code;
    fs::recursive_directory_iterator entry(folder, code);
    for (; !code && entry != fs::recursive_directory_iterator(); entry.increment(code)) {
        std::error_code ignored;
        if (entry->is_regular_file(ignored)) {
            files.push_back(entry->path());
        }
        if (files.size() > kFilesMax) {
            return Error{
                ErrorCode::TooLarge,
                Reaction::Reject,
                folder.string() + " has more than " + std::to_string(kFilesMax) + " files"};
        }
    }
    if (code) {
        return not_found(folder.string(), "cannot list the folder: " + code.message());
    }
    std::sort(files.begin(), files.end());
    return files;
}

/// Returns what a glob matches, by name; the path itself where a file has it.
Result<std::vector<fs::path>> matches_of(const std::string& pattern) {
    std::error_code ignored;
    if (fs::exists(pattern, ignored)) {
        return std::vector<fs::path>{pattern};
    }
    glob_t found{};
    const int code = ::glob(pattern.c_str(), 0, nullptr, &found);
    std::vector<fs::path> matches;
    if (code == 0) {
        matches.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
    }
    ::globfree(&found);
    if (code == GLOB_NOMATCH || matches.empty()) {
        const bool is_glob = pattern.find_first_of("*?[") != std::string::npos;
        return not_found(pattern, is_glob ? "no file matches" : "no such file or folder");
    }
    std::sort(matches.begin(), matches.end());  // glob() sorts by the language of the user
    return matches;
}

class FileCollector {
 public:
    Result<> add(const fs::path& path, InputFormat format) {
        struct stat status {};

        if (::stat(path.c_str(), &status) != 0) {
            return not_found(path.string(), std::generic_category().message(errno));
        }
        if (!S_ISREG(status.st_mode)) {
            return not_found(path.string(), "is neither a file nor a folder");
        }
        // Two names of one file, such as a link to it, are one file.
        if (!seen_.emplace(status.st_dev, status.st_ino).second) {
            return {};
        }
        if (found.files.size() == kFilesMax) {
            return Error{
                ErrorCode::TooLarge,
                Reaction::Reject,
                "a source has more than " + std::to_string(kFilesMax) + " files"};
        }
        constexpr std::int64_t kSecond = 1'000'000'000;
        found.files.push_back(
            {path,
             format,
             static_cast<std::uint64_t>(status.st_size),
             status.st_mtim.tv_sec * kSecond + status.st_mtim.tv_nsec}
        );
        return {};
    }

    Result<> add_folder(const fs::path& folder) {
        SWARM_TRY(const auto files, files_below(folder));
        for (const fs::path& path : files) {
            const auto format = format_of(path);
            if (format) {
                SWARM_TRY(add(path, *format));
            } else {
                ++found.ignored;
            }
        }
        return {};
    }

    InputFiles found;

 private:
    std::set<std::pair<dev_t, ino_t>> seen_;
};

}  // namespace

std::optional<InputFormat> format_of(const fs::path& path) {
    const std::string name = path.filename().string();
    if (name.ends_with(".txt") || name.ends_with(".md")) {
        return InputFormat::Text;
    }
    if (name.ends_with(".jsonl")) {
        return InputFormat::Lines;
    }
    if (name.ends_with(".jsonl.gz")) {
        return InputFormat::LinesGzip;
    }
    if (name.ends_with(".jsonl.zst")) {
        return InputFormat::LinesZstd;
    }
    if (name.ends_with(".parquet")) {
        return InputFormat::Parquet;
    }
    return std::nullopt;
}

Result<InputFiles> find_input_files(const Source& source, const fs::path& folder) {
    FileCollector collector;
    for (const std::string& entry : source.paths) {
        SWARM_TRY(const auto matches, matches_of((folder / entry).string()));
        for (const fs::path& path : matches) {
            std::error_code ignored;
            if (fs::is_directory(path, ignored)) {
                SWARM_TRY(collector.add_folder(path));
                continue;
            }
            const auto format = format_of(path);
            if (!format) {
                return refused_ending(path);
            }
            SWARM_TRY(collector.add(path, *format));
        }
    }
    if (collector.found.files.empty()) {
        return not_found(
            "source " + source.name,
            std::string("its paths have no file that is read; read are ") + kReadEndings
        );
    }
    return std::move(collector.found);
}

}  // namespace swarm::data
