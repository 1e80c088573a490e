// A mixture of sources by weight: sample n of a run belongs to which source, and is the how-manieth
// of it. The answer repeats with a period of at most kMixtureSlotsMax slots.
// Invariant: among the first n samples, a source with the share w has more than n w - 1 and fewer
// than n w + 1; the shares are the weights over their sum, exact where a period has them and else
// rounded to multiples of 1/65,536, at least one.
// Threading: immutable. Cost: 0.5 MiB; making it takes slots x sources steps. Errors: Usage.
// Source: Baruah, Cohen, Plaxton, Varvel, "Proportionate Progress", 1996, with one resource.
#pragma once

#include "swarm/base/result.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace swarm::data {

class Mixture {
 public:
    /// Usage: more than kSourcesMax weights, none, one that is no number of at least 0, a sum of 0.
    static Result<Mixture> make(std::span<const double> weights);

    struct Turn {
        std::size_t source = 0;
        std::uint64_t count = 0;  // samples of this source before it
    };

    [[nodiscard]] Turn turn(std::uint64_t sample) const;

    /// Slots of each source in a period.
    [[nodiscard]] std::span<const std::uint32_t> shares() const { return shares_; }

    [[nodiscard]] std::uint32_t period() const { return static_cast<std::uint32_t>(slots_.size()); }

 private:
    struct Slot {
        std::uint32_t source = 0;
        std::uint32_t count = 0;  // slots of this source before it in the period
    };

    std::vector<std::uint32_t> shares_;
    std::vector<Slot> slots_;
};

}  // namespace swarm::data
