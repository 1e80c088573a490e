// Sums of gradients in int64 fixed point: each addend is round(g x 2^40), so neither order nor
// place of summation shows in the result. The last elements are the counters of the step's
// microbatches.
// Invariant: |sum| < 2^62 (|g| < 2^11, at most 2^11 microbatches; limits.hpp).
// Threading: one thread, the device's. Cost: 8 bytes per element; add() is one pass.
#pragma once

#include "swarm/base/ids.hpp"
#include "swarm/base/result.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace stages {

/// Error: NotFinite (Reject) when an element is not finite or |g| >= 2^11. The caller drops the
/// gradient.
swarm::Result<> check_gradient(std::span<const float> gradient);

/// Undoes the scale: sum x 2^-40, exact in double, rounded once to float.
float to_value(std::int64_t sum);
/// Sets values[i] = to_value(sums[i]); there are as many values as sums.
void to_values(std::span<const std::int64_t> sums, std::span<float> values);

class Accumulator {
 public:
    /// The first `tied` elements and the last `tied` elements before the counters are two uses of
    /// one matrix: each use gets the sums over both.
    Accumulator(std::uint64_t elements, std::uint32_t microbatches, std::uint64_t tied = 0)
        : elements_(elements), tied_(tied), sums_(elements + microbatches) {}

    /// `gradient` has passed check_gradient() and has `elements` elements.
    void add(swarm::MicrobatchId id, std::span<const float> gradient);
    void clear();

    /// The sums of all tensors, then one counter per microbatch.
    [[nodiscard]] std::span<const std::int64_t> sums() const { return sums_; }

 private:
    std::uint64_t elements_;
    std::uint64_t tied_;
    std::vector<std::int64_t> sums_;
};

}  // namespace stages
