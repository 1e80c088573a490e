// Walks over the header of a GGUF file, front to back. Private to gguf_header.cpp.
// Invariant: keeps the first fault; after it every value taken is zero or empty, so that a caller
// may take several and then ask ok(). Never allocates more than the file has left.
// Threading: one thread. Errors: Malformed (the end of the file), TooLarge (the end of the bound on
// headers), StorageFailed. Cost: one read per 64 KiB.
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

    /// A length of 8 bytes, then as many bytes. `what` is for the error: "a key".
    std::string text(std::uint64_t bytes_max, const char* what);

    /// Without copying them anywhere.
    void skip(std::uint64_t bytes);

    /// Whether so many entries of at least so many bytes can follow; a fault if not.
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
    std::uint64_t end_;  // of the file, or of the bound
    std::uint64_t position_ = 0;
    std::vector<std::byte> window_;  // what was read last
    std::uint64_t window_begin_ = 0;
    std::optional<swarm::Error> fault_;
};

}  // namespace stacking::models
