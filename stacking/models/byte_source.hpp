// Bytes that can be read from anywhere: a file, or memory in tests and fuzz targets.
// Invariant: the size does not change while the object lives; a file that shrinks is an Error.
// Threading: const and without state of its own, so any thread. Cost: one pread() per read().
// Errors: NotFound (no such file, not a plain file), StorageFailed (reading fails); Reject.
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

    /// Fills `bytes` from `offset` on. Malformed when they do not lie within size().
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

swarm::Result<std::unique_ptr<ByteSource>> open_file(const std::filesystem::path& path);

/// The whole file as text. TooLarge above `bytes_max`.
swarm::Result<std::string> read_text(const std::filesystem::path& path, std::uint64_t bytes_max);

/// A name from a file as it may stand in a line for people: printable ASCII, at most 80 of it.
std::string printable(std::string_view name);

/// The same without the cut: what other readers say may quote a file, too.
std::string one_line(std::string text);

}  // namespace stacking::models
