// A folder of this process below the system's temporary folder; it is removed with the object.
// Errors: none; a machine without room for an empty folder ends the program (std::system_error).
#pragma once

#include <filesystem>

namespace swarm::cli {

class TemporaryDirectory {
 public:
    TemporaryDirectory();
    TemporaryDirectory(const TemporaryDirectory&) = delete;
    TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
    ~TemporaryDirectory();

    [[nodiscard]] const std::filesystem::path& path() const { return path_; }

    /// Leaves the folder on the disk.
    void keep() { keep_ = true; }

 private:
    std::filesystem::path path_;
    bool keep_ = false;
};

}  // namespace swarm::cli
