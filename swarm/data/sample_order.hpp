// The order of samples: a permutation of [0, size) that a key chooses, computed for one index at a
// time. It is a Feistel network over the next power of two; an index that falls outside is sent
// through again until it is inside.
// Invariant: every key gives a bijection. The same key and size give the same one everywhere.
// Threading: immutable. Cost: two passes of eight rounds on average (more below 64), no memory.
// Source: Black, Rogaway, "Ciphers with Arbitrary Finite Domains", CT-RSA 2002.
#pragma once

#include <cstdint>

namespace swarm::data {

class SampleOrder {
 public:
    /// Requires a size from 1 to 2^62.
    SampleOrder(std::uint64_t size, std::uint64_t key);

    /// Requires an index below the size.
    [[nodiscard]] std::uint64_t operator()(std::uint64_t index) const;

 private:
    [[nodiscard]] std::uint64_t pass(std::uint64_t value) const;

    std::uint64_t size_;
    std::uint64_t key_;
    unsigned low_bits_;   // bits of the right half
    unsigned high_bits_;  // bits of the left half; together at least six bits
};

/// The key of one epoch of one stream of samples.
std::uint64_t order_key(std::uint64_t seed, std::uint64_t stream, std::uint64_t epoch);

}  // namespace swarm::data
