// A trained seam between two models. The first layer of the second model reads the sum of its own
// embedding of the token and a linear map of the output h1 of the first model's last layer.
//   x = E2[token] + A normalised(h1) + b
// Invariant: A and b begin as zeros, so the stack begins as the second model, bit for bit.
// Threading: const and any thread. Shapes: A (C2, C1), h1 (R, C1), x (R, C2), all fp32.
// Errors: parse() returns those of safetensors, Mismatch (shapes) and NotFinite; Reject.
// Cost: C1 x C2 per row. Source: the adapters of Houlsby et al. 2019, which begin as the identity,
// too. Deviation: no bottleneck.
#pragma once

#include "swarm/base/result.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace stacking::composition {

/// Divides each row (C) by its root mean square, in place.
void normalise_rows(std::span<float> rows, std::size_t width);

class Bridge {
 public:
    static Bridge zero(std::uint32_t inputs, std::uint32_t outputs);
    /// `parameters`: the values of A, then those of b.
    static Bridge from(
        std::uint32_t inputs, std::uint32_t outputs, std::span<const float> parameters
    );
    static swarm::Result<Bridge> parse(std::span<const std::byte> file);

    [[nodiscard]] std::vector<std::byte> to_file() const;

    [[nodiscard]] std::uint32_t inputs() const { return inputs_; }

    [[nodiscard]] std::uint32_t outputs() const { return outputs_; }

    /// Adds the map of `normalised` (R, C1) to `x` (R, C2).
    void add(std::span<const float> normalised, std::span<float> x) const;

 private:
    Bridge(std::uint32_t inputs, std::uint32_t outputs, std::vector<float> parameters)
        : inputs_(inputs), outputs_(outputs), parameters_(std::move(parameters)) {}

    std::uint32_t inputs_;
    std::uint32_t outputs_;
    std::vector<float> parameters_;
};

}  // namespace stacking::composition
