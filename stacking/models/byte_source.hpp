// Bytes that can be read at any offset: a file, or memory in tests and fuzz targets.
// Invariant: the size does not change while the object lives; a file that shrinks is an error.
// Threading: const and without state of its own, so any thread. Cost: one pread() per read().
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
};

class MemoryBytes final : public ByteSource {
 public:
    explicit MemoryBytes(std::vector<std::byte> bytes) : bytes_(std::move(bytes)) {}

    [[nodiscard]] std::uint64_t size() const override { return bytes_.size(); }

    [[nodiscard]] swarm::Result<> read(std::uint64_t offset, std::span<std::byte> bytes)
        const override;

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
