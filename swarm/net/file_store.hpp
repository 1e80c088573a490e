// The disk of one peer: a folder with a log of records and with whole files. It survives kill -9
// and power cuts. The log is 8 bytes of magic, then per record: length u32, CRC-32 u32 (over length
// and bytes), bytes; little-endian.
// Invariants: once sync() or write_file() has returned, its records or file are on disk; open()
// cuts off a tail that a crash has torn; one process at a time holds the folder (flock), so two
// processes never share one identity.
// Threading: one thread at a time (the host's file thread); every call blocks.
// Errors: StorageFailed (Fatal), because nobody knows what a disk holds after a failed fsync;
// Usage.
#pragma once

#include "swarm/base/durable_file.hpp"
#include "swarm/base/result.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace swarm::net {

class FileStore {
 public:
    /// Makes the folder when there is none, durably.
    static Result<FileStore> open(const std::filesystem::path& folder);

    /// The store of a role that keeps nothing: it needs no folder, and each use is an error.
    static FileStore none() { return {}; }

    /// Appends the records in one write; they are durable after the next sync().
    Result<> append(std::span<const std::string> records);
    Result<> sync();

    /// Returns all records, oldest first; those not yet synced are among them.
    [[nodiscard]] Result<std::vector<std::string>> load() const;

    /// Writes the file whole or not at all (write_durably). `name` is relative; '/' makes folders.
    Result<> write_file(const std::string& name, std::span<const std::span<const std::byte>> parts);

    /// Returns how many bytes open() cut off; they were of records that nobody was promised.
    [[nodiscard]] std::uint64_t torn_bytes() const { return torn_bytes_; }

 private:
    FileStore() = default;

    /// An error where this is none().
    [[nodiscard]] Result<> expect_folder() const;

    std::filesystem::path folder_;
    FileDescriptor lock_;
    FileDescriptor log_;
    std::uint64_t torn_bytes_ = 0;
    bool dirty_ = false;
};

}  // namespace swarm::net
