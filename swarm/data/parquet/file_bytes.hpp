// The bytes of a Parquet file at any offset: a file, or memory in tests and fuzz targets.
// Invariant: the size does not change while the object lives; a file that shrinks is an error.
// Threading: one thread. Errors: NotFound, StorageFailed: the disk; Malformed: the file has become
// shorter; Reject. Cost: one pread() per read().
#pragma once

#include "swarm/base/result.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <utility>

namespace swarm::data::parquet {

/// An error of the file's content, which its reader counts as a bad line.
[[nodiscard]] Error damaged(std::string why);

class FileBytes {
 public:
    FileBytes() = default;
    FileBytes(const FileBytes&) = delete;
    FileBytes& operator=(const FileBytes&) = delete;
    virtual ~FileBytes() = default;

    [[nodiscard]] virtual std::uint64_t size() const = 0;

    /// Fills `bytes`. Requires that they lie within the file.
    virtual Result<> read(std::uint64_t offset, std::span<char> bytes) const = 0;
};

class MemoryBytes : public FileBytes {
 public:
    explicit MemoryBytes(std::string bytes) : bytes_(std::move(bytes)) {}

    [[nodiscard]] std::uint64_t size() const override { return bytes_.size(); }

    Result<> read(std::uint64_t offset, std::span<char> bytes) const override;

 private:
    std::string bytes_;
};

Result<std::unique_ptr<FileBytes>> open_file_bytes(const std::filesystem::path& path);

}  // namespace swarm::data::parquet
