// Bytes that can be read at any offset: a file, or memory in tests and fuzz targets.
// Invariant: the size does not change while the object lives; a file that shrinks is an error.
// Threading: const, so any thread. Cost: one pread() per read(); view() copies nothing of a file,
// which is mapped when it is first called (swarm/base/file_map.hpp).
// Errors: NotFound (no such file, or no plain file), Mismatch (a pointer of Git LFS in its place),
// StorageFailed (reading fails); Reject.
#pragma once

#include "swarm/base/result.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace stacking::models {

class ByteSource {
 public:
    ByteSource() = default;
    ByteSource(const ByteSource&) = delete;
    ByteSource& operator=(const ByteSource&) = delete;
    virtual ~ByteSource() = default;

    [[nodiscard]] virtual std::uint64_t size() const = 0;

    /// Fills `bytes` from `offset` on. Returns Malformed when they do not lie within size().
    [[nodiscard]] virtual swarm::Result<> read(std::uint64_t offset, std::span<std::byte> bytes)
        const = 0;

    /// Returns bytes in their place where this source has them in memory, else reads them into
    /// `room`, which the result then points to. Errors are those of read(). Whoever has used the
    /// bytes asks check_views() before trusting what came of them.
    [[nodiscard]] virtual swarm::Result<std::span<const std::byte>> view(
        std::uint64_t offset, std::size_t count, std::vector<std::byte>& room
    ) const;

    /// Returns the error that read() would have for these bytes, as far as it is known without
    /// reading them. Threads that read for another one cannot note what is missing (copies/).
    [[nodiscard]] virtual swarm::Result<> check_there(std::uint64_t offset, std::uint64_t count)
        const;

    /// Returns StorageFailed when a view may have had other bytes than the file.
    [[nodiscard]] virtual swarm::Result<> check_views() const { return {}; }

    /// Hints for views, in bytes: what is wanted soon, and what is wanted no more.
    virtual void fetch(std::uint64_t /*offset*/, std::uint64_t /*count*/) const {}

    virtual void forget(std::uint64_t /*offset*/, std::uint64_t /*count*/) const {}
};

class MemoryBytes final : public ByteSource {
 public:
    explicit MemoryBytes(std::vector<std::byte> bytes) : bytes_(std::move(bytes)) {}

    [[nodiscard]] std::uint64_t size() const override { return bytes_.size(); }

    [[nodiscard]] swarm::Result<> read(std::uint64_t offset, std::span<std::byte> bytes)
        const override;
    [[nodiscard]] swarm::Result<std::span<const std::byte>> view(
        std::uint64_t offset, std::size_t count, std::vector<std::byte>& room
    ) const override;

 private:
    std::vector<std::byte> bytes_;
};

/// A file in the folder of a copy that lacks some chunks gives only what is there
/// (copies/partial_copy.hpp).
swarm::Result<std::unique_ptr<ByteSource>> open_file(const std::filesystem::path& path);

/// Reads the whole file as text. Returns TooLarge above `bytes_max`.
swarm::Result<std::string> read_text(const std::filesystem::path& path, std::uint64_t bytes_max);

/// Makes a name from a file fit for a line that people read: at most 80 characters, all of them
/// printable ASCII.
std::string printable(std::string_view name);

/// Makes a text printable ASCII without cutting it: messages of other readers may quote a file,
/// too.
std::string one_line(std::string text);

}  // namespace stacking::models
