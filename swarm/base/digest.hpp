// SHA-256 (OpenSSL). Digests identify peers, results, chunks of a state and whole states.
// Threading: a Sha256 belongs to one thread. Cost: about 1.8 GB/s with SHA instructions.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace swarm {

struct Digest {
    std::array<std::byte, 32> bytes{};

    // NOLINTNEXTLINE(modernize-use-nullptr): clang-tidy 14 misreads the 0 inside a defaulted <=>
    friend auto operator<=>(const Digest&, const Digest&) = default;
};

/// Returns 64 lower-case hexadecimal digits.
std::string to_hex(const Digest& digest);

class Sha256 {
 public:
    Sha256();
    Sha256(Sha256&&) noexcept;
    Sha256& operator=(Sha256&&) noexcept;
    ~Sha256();

    void add(std::span<const std::byte> bytes);
    void add_text(const std::string& text);
    /// Returns the digest of all that was added; the object then starts a new, empty hash.
    Digest finish();

 private:
    struct Context;
    std::unique_ptr<Context> context_;
};

Digest sha256(std::span<const std::byte> bytes);

}  // namespace swarm
