// The disk of one peer: a folder with a log of records and whole files; survives kill -9 and power
// cuts. Log = 8 bytes of magic, then per record: length u32, CRC-32 u32 (of length and bytes),
// bytes; little-endian.
// Invariants: what sync() or write_file() has returned is on disk; a tail torn by a crash is cut
// off at open(); one process at a time holds the folder (flock), so two never share one identity.
// Threading: one thread at a time (the host's file thread); every call blocks.
// Errors: StorageFailed (Fatal): after a failed fsync nobody knows what the disk holds. Usage.
#pragma once

#include "swarm/base/result.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace swarm::net {

/// A file that is closed once; -1: none.
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

class FileStore {
 public:
    /// Makes the folder when there is none.
    static Result<FileStore> open(const std::filesystem::path& folder);

    /// In one write; durable after the next sync().
    Result<> append(std::span<const std::string> records);
    Result<> sync();

    /// All records, those not yet synced too, oldest first.
    [[nodiscard]] Result<std::vector<std::string>> load() const;

    /// Whole or not at all: written under a temporary name, synced, renamed; then its folders are
    /// synced. `name` is relative; '/' makes folders.
    Result<> write_file(const std::string& name, std::span<const std::span<const std::byte>> parts);

    /// What open() had to cut off: records that were never acknowledged.
    [[nodiscard]] std::uint64_t torn_bytes() const { return torn_bytes_; }

 private:
    FileStore() = default;

    std::filesystem::path folder_;
    FileDescriptor lock_;
    FileDescriptor log_;
    std::uint64_t torn_bytes_ = 0;
    bool dirty_ = false;
};

}  // namespace swarm::net
