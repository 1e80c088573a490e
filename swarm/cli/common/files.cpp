#include "swarm/cli/common/files.hpp"

#include "swarm/base/try.hpp"
#include "swarm/base/write_error.hpp"
#include "swarm/cli/terminal/console.hpp"

#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <system_error>
#include <utility>

namespace swarm::cli {
namespace {

namespace fs = std::filesystem;

Error rejected(ErrorCode code, std::string detail) {
    return {code, Reaction::Reject, std::move(detail)};
}

std::string environment(const char* name) {
    const char* const value = std::getenv(name);
    return value == nullptr ? "" : value;
}

}  // namespace

Result<std::string> read_file(const fs::path& path, std::uint64_t bytes_max) {
    std::error_code error;
    const std::uint64_t size = fs::file_size(path, error);
    if (error) {
        return rejected(
            ErrorCode::NotFound, "cannot read " + path.string() + ": " + error.message()
        );
    }
    if (size > bytes_max) {
        return rejected(
            ErrorCode::TooLarge,
            path.string() + " is larger than " + std::to_string(bytes_max) + " bytes"
        );
    }
    std::string text(size, '\0');
    errno = 0;
    std::ifstream in(path, std::ios::binary);
    if (!in.read(text.data(), static_cast<std::streamsize>(size))) {
        const int code = errno;
        return rejected(
            ErrorCode::NotFound,
            "cannot read " + path.string() +
                (code == 0 ? ": it ends early" : ": " + std::generic_category().message(code))
        );
    }
    return text;
}

Result<std::string> read_standard_input(std::uint64_t bytes_max) {
    std::string text;
    char piece[4096];
    while (std::cin.read(piece, sizeof piece) || std::cin.gcount() > 0) {
        text.append(piece, static_cast<std::size_t>(std::cin.gcount()));
        if (text.size() > bytes_max) {
            return rejected(
                ErrorCode::TooLarge,
                "standard input is larger than " + std::to_string(bytes_max) + " bytes"
            );
        }
    }
    if (text.ends_with('\n')) {
        text.pop_back();
    }
    return text;
}

bool write_text(Console& console, const std::string& file, const std::string& text) {
    errno = 0;
    std::ofstream out(file, std::ios::binary);
    out << text;
    out.close();
    if (!out) {
        console.error(write_error(file, errno, "name another file").detail);
    }
    return static_cast<bool>(out);
}

fs::path cache_folder() {
    if (const std::string deps = environment("SWARM_DEPS"); !deps.empty()) {
        return deps;
    }
    const std::string cache = environment("XDG_CACHE_HOME");
    const fs::path base =
        cache.empty() ? fs::path(environment("HOME")) / ".cache" : fs::path(cache);
    return base / "swarm";
}

fs::path program_folder() {
    std::error_code unknown;
    const fs::path beside = fs::read_symlink("/proc/self/exe", unknown).parent_path();
    const fs::path shared = beside.parent_path() / "share" / "swarm";
    return beside.filename() == "bin" && fs::is_directory(shared, unknown) ? shared : beside;
}

}  // namespace swarm::cli
