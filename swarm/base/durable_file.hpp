// Files that outlive a power cut: content synced, then put in their place under their name, then
// the folder synced, because a new name is on disk only after that. Every file that a promise rests
// on is written by these functions.
// Invariant: once one of them has returned success, the file or folder is found after a power cut;
// until then what was there before is found, whole.
// Threading: one thread per object; every call blocks. Errors: StorageFailed (Fatal), "cannot write
// PATH: REASON; ADVICE", where the advice ends with `elsewhere`; no draft of a failed file stays,
// because a full disk needs its room. Cost: two fsyncs per file, one per new folder, one more for
// the folder that was there, since a process that was killed may have made that.
// Source: Pillai et al., "All File Systems Are Not Created Equal", OSDI 2014.
#pragma once

#include "swarm/base/result.hpp"

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <utility>

namespace swarm {

/// An open file, closed once; -1 stands for no file.
class FileDescriptor {
 public:
    FileDescriptor() = default;

    explicit FileDescriptor(int value) : value_(value) {}

    FileDescriptor(FileDescriptor&& other) noexcept : value_(std::exchange(other.value_, -1)) {}

    FileDescriptor& operator=(FileDescriptor&& other) noexcept {
        std::swap(value_, other.value_);
        return *this;
    }

    ~FileDescriptor();

    [[nodiscard]] int get() const { return value_; }

    [[nodiscard]] bool is_open() const { return value_ >= 0; }

 private:
    int value_ = -1;
};

/// Makes a folder and those above it, durably; success where it exists, and for an empty path. The
/// error is that of the folder, which a later attempt at a file in it would hide.
Result<> make_folder(
    const std::filesystem::path& folder, const std::string& elsewhere = "name another place"
);

/// Makes the folder in which a file is to be written.
Result<> make_folder_of(
    const std::filesystem::path& file, const std::string& elsewhere = "name another place"
);

/// Syncs a folder, so that the names in it are on disk.
Result<> sync_folder(
    const std::filesystem::path& folder, const std::string& elsewhere = "name another place"
);

/// A file that has another name until finish(), and is removed if that does not come.
class DurableFile {
 public:
    enum class Readers { All, OwnerAlone };
    enum class IfThere { Replace, Keep };

    /// Makes the folder of the file, too. With Keep several processes may begin the same file: each
    /// has a draft of its own.
    static Result<DurableFile> begin(
        const std::filesystem::path& file,
        Readers readers = Readers::All,
        IfThere if_there = IfThere::Replace,
        const std::string& elsewhere = "name another place"
    );

    DurableFile(DurableFile&& other) noexcept = default;
    DurableFile& operator=(DurableFile&&) = delete;
    ~DurableFile();

    Result<> write(std::span<const std::byte> bytes);

    /// Puts the file in its place. Returns false where Keep has found another one there.
    Result<bool> finish();

 private:
    DurableFile() = default;

    [[nodiscard]] Error cannot(int code) const;

    std::filesystem::path file_;
    std::filesystem::path draft_;
    std::string elsewhere_;
    IfThere if_there_ = IfThere::Replace;
    FileDescriptor out_;
};

/// Writes a whole file in the place of what was there.
Result<> write_durably(
    const std::filesystem::path& file,
    std::span<const std::span<const std::byte>> parts,
    const std::string& elsewhere = "name another place"
);
Result<> write_durably(
    const std::filesystem::path& file,
    std::span<const std::byte> bytes,
    const std::string& elsewhere = "name another place"
);

/// Writes a secret that its owner alone may read. Returns false where a file is there: it stays.
Result<bool> create_secret_durably(
    const std::filesystem::path& file,
    std::span<const std::byte> bytes,
    const std::string& elsewhere
);

/// Renames a whole file that another program has written; both places are on one disk.
Result<> move_durably(
    const std::filesystem::path& from,
    const std::filesystem::path& to,
    const std::string& elsewhere = "name another place"
);

}  // namespace swarm
