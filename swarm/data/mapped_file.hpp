// A whole file in memory, read-only, by mmap: pages come from the disk when they are read and may
// leave again, so files larger than memory can be open.
// Invariant: the mapping lives as long as the object. The file must not shrink meanwhile: the
// system would end the process.
// Threading: any thread reads. Errors: NotFound, StorageFailed (Reject): one line with the path.
#pragma once

#include "swarm/base/result.hpp"

#include <cstddef>
#include <filesystem>
#include <span>
#include <utility>

namespace swarm::data {

class MappedFile {
 public:
    static Result<MappedFile> open(const std::filesystem::path& path);

    MappedFile(MappedFile&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}

    MappedFile& operator=(MappedFile&& other) noexcept {
        std::swap(bytes_, other.bytes_);
        return *this;
    }

    ~MappedFile();

    [[nodiscard]] std::span<const std::byte> bytes() const { return bytes_; }

    /// Gives pages back that were read once and will not be read again soon.
    void forget_pages() const;

 private:
    explicit MappedFile(std::span<const std::byte> bytes) : bytes_(bytes) {}

    std::span<const std::byte> bytes_;
};

}  // namespace swarm::data
