// The folder for the logs of all processes of `swarm local`: that of --dir, or a temporary one,
// which stays only after a failure.
// Threading: the main thread. Errors: StorageFailed (Fatal).
#pragma once

#include "swarm/cli/common/temporary_directory.hpp"
#include "swarm/cli/terminal/console.hpp"

#include <filesystem>
#include <optional>
#include <string>
#include <utility>

namespace swarm::cli {

class LogFolder {
 public:
    /// Makes the folder `chosen`, or a temporary one where it is empty.
    static Result<LogFolder> open(const std::string& chosen);

    [[nodiscard]] const std::filesystem::path& path() const { return path_; }

    /// Leaves a temporary folder on the disk, and says where it is.
    void keep(Console& console);

 private:
    LogFolder(std::filesystem::path path, std::optional<TemporaryDirectory> scratch)
        : path_(std::move(path)), scratch_(std::move(scratch)) {}

    std::filesystem::path path_;
    std::optional<TemporaryDirectory> scratch_;
};

}  // namespace swarm::cli
