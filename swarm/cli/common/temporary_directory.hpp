// A folder of this process below the system's temporary folder; it is removed with the object.
// Errors: StorageFailed (Fatal), one line that names the folder and the reason.
#pragma once

#include "swarm/base/result.hpp"

#include <filesystem>
#include <utility>

namespace swarm::cli {

class TemporaryDirectory {
 public:
    static Result<TemporaryDirectory> make();

    TemporaryDirectory(TemporaryDirectory&& other) noexcept
        : path_(std::exchange(other.path_, {})), keep_(other.keep_) {}

    TemporaryDirectory& operator=(TemporaryDirectory&&) = delete;
    ~TemporaryDirectory();

    [[nodiscard]] const std::filesystem::path& path() const { return path_; }

    /// Leaves the folder on the disk.
    void keep() { keep_ = true; }

 private:
    explicit TemporaryDirectory(std::filesystem::path path) : path_(std::move(path)) {}

    std::filesystem::path path_;  // empty after a move
    bool keep_ = false;
};

}  // namespace swarm::cli
