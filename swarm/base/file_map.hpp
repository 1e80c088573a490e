// The beginning of a file as memory, read-only, by mmap: pages come from the disk, or from what the
// system keeps of it, when they are read.
// Invariant: a page that cannot be read, because the file became shorter or its disk fails, holds
// zeros, and so do those behind it; is_whole() is false from then on. By itself the system would
// end the process with SIGBUS. So whoever has used bytes asks is_whole() before trusting them. A
// SIGBUS that has another cause goes to whoever handled it before.
// Threading: const and any thread. Errors: none; open() returns null where the system maps nothing,
// or kMapsMax maps are there, and the caller reads the file instead.
// Cost: opening maps and reads nothing. Source: own; systemd's journal meets SIGBUS in this way.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

namespace swarm {

class FileMap {
 public:
    static constexpr std::size_t kMapsMax = 4096;

    /// `descriptor`: a plain file, which may be closed afterwards.
    static std::unique_ptr<FileMap> open(int descriptor, std::size_t bytes);

    FileMap(const FileMap&) = delete;
    FileMap& operator=(const FileMap&) = delete;
    ~FileMap();

    [[nodiscard]] std::span<const std::byte> bytes() const { return bytes_; }

    [[nodiscard]] bool is_whole() const;

    /// Asks the system to read bytes that are wanted soon, without waiting for them.
    void fetch(std::size_t from, std::size_t count) const;

    /// Gives the pages of these bytes back. They can be read again.
    void forget(std::size_t from, std::size_t count) const;

 private:
    FileMap(std::span<const std::byte> bytes, std::size_t place) : bytes_(bytes), place_(place) {}

    std::span<const std::byte> bytes_;
    std::size_t place_;  // in the list that the handler of SIGBUS reads
};

}  // namespace swarm
