// A folder of files that appears whole or not at all: they are written into a draft beside it,
// ".NAME.draft", which is renamed into its place.
// Invariant: nobody sees the folder half-written under its own name, and once finish() has returned
// success it is found after a power cut.
// Threading: one thread per object; one process at a time per folder (flock). Errors: Usage
// (Reject): files, or another process, are there; StorageFailed (Fatal): one line. A draft that
// fails is removed; one that a killed process left is removed by the next begin().
#pragma once

#include "swarm/base/durable_file.hpp"
#include "swarm/base/result.hpp"

#include <filesystem>
#include <string>

namespace swarm {

/// Returns Usage unless the path is free: nothing is there, or an empty folder.
Result<> check_free(const std::filesystem::path& folder);

class DurableFolder {
 public:
    /// Makes the folders above it, and an empty draft.
    static Result<DurableFolder> begin(
        const std::filesystem::path& folder, const std::string& elsewhere = "name another place"
    );

    DurableFolder(DurableFolder&&) noexcept = default;
    DurableFolder& operator=(DurableFolder&&) = delete;
    ~DurableFolder();

    /// The folder that the files are written to. REQUIRES: finish() was not called.
    [[nodiscard]] const std::filesystem::path& draft() const { return draft_; }

    /// Puts the folder in its place. REQUIRES: its files are synced, as durable_file.hpp does.
    Result<> finish();

 private:
    DurableFolder() = default;

    std::filesystem::path place_;
    std::filesystem::path draft_;  // empty: there is none
    std::string elsewhere_;
    FileDescriptor lock_;
};

}  // namespace swarm
