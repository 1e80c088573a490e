// Sums of gradients in int64 fixed point: round(g x 2^40), so that neither order nor place of
// summation shows in the result. The counters of the step's microbatches are its last elements.
// Invariant: |sum| < 2^62 (|g| < 2^11, at most 2^11 microbatches; limits.hpp).
// Cost: 8 bytes per element; add() is one pass.
#pragma once

#include "swarm/base/ids.hpp"
#include "swarm/base/result.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace stages {

/// NotFinite (Reject) when an element is not finite or |g| >= 2^11.
swarm::Result<> check_gradient(std::span<const float> gradient);

/// The exact inverse scale: sum x 2^-40 in double, rounded once to float.
float to_value(std::int64_t sum);
/// values[i] = to_value(sums[i]); as many values as sums.
void to_values(std::span<const std::int64_t> sums, std::span<float> values);

class Accumulator {
 public:
    /// `tied`: the first so many elements and as many before the counters are one matrix, of which
    /// each use gets the sums over both.
    Accumulator(std::uint64_t elements, std::uint32_t microbatches, std::uint64_t tied = 0)
        : elements_(elements), tied_(tied), sums_(elements + microbatches) {}

    /// `gradient` has passed check_gradient() and has `elements` elements.
    void add(swarm::MicrobatchId id, std::span<const float> gradient);
    void clear();

    /// Tensors first, then one counter per microbatch.
    [[nodiscard]] std::span<const std::int64_t> sums() const { return sums_; }

 private:
    std::uint64_t elements_;
    std::uint64_t tied_;
    std::vector<std::int64_t> sums_;
};

}  // namespace stages
