// Walks over the header of a GGUF file from front to back. Private to gguf_header.cpp.
// Invariant: the cursor keeps the first fault. After a fault every value that it gives is zero or
// empty, so a caller may take several values and then ask ok(). It never allocates more bytes than
// the file has left.
// Threading: one thread. Errors: Malformed (end of the file), TooLarge (end of the bound on
// headers), StorageFailed; Reject. Cost: one read per 64 KiB.
#pragma once

#include "stacking/models/byte_source.hpp"
#include "swarm/base/result.hpp"

#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace stacking::models {

class GgufCursor {
 public:
    explicit GgufCursor(const ByteSource& file);

    template <class T>
    T number() {
        T value{};
        take(std::as_writable_bytes(std::span(&value, 1)));
        return value;
    }

    /// Reads a length of 8 bytes, then as many bytes. `what` names the value in an error: "a key".
    std::string text(std::uint64_t bytes_max, const char* what);

    /// Goes on behind `bytes` bytes without copying them.
    void skip(std::uint64_t bytes);

    /// Whether `entries` entries of at least `bytes_each` bytes can follow; a fault if not.
    bool has_room(std::uint64_t entries, std::uint64_t bytes_each, const char* what);

    void fail(swarm::ErrorCode code, const std::string& what);

    [[nodiscard]] bool ok() const { return !fault_; }

    [[nodiscard]] const std::optional<swarm::Error>& fault() const { return fault_; }

    [[nodiscard]] std::uint64_t position() const { return position_; }

 private:
    void take(std::span<std::byte> bytes);
    bool check_left(std::uint64_t bytes, const char* what);
    void refill();

    const ByteSource& file_;
    std::uint64_t end_;  // end of the file, or of the bound on headers
    std::uint64_t position_ = 0;
    std::vector<std::byte> window_;  // bytes of the last read
    std::uint64_t window_begin_ = 0;
    std::optional<swarm::Error> fault_;
};

}  // namespace stacking::models
