// A trained seam between two models: what the second one's first layer reads is its own embedding
// of the token plus a linear map of what the first one's last layer said.
//   x = E2[token] + A normalised(h1) + b
// A and b begin as zeros, so the stack begins as the second model, bit for bit.
// Threading: const and any thread. Shapes: A (C2, C1), h1 (R, C1), x (R, C2), all fp32.
// Errors: of parse(): those of safetensors; Mismatch (shapes), NotFinite; Reject. Cost: C1 x C2 per
// row. Source: the adapters of Houlsby et al. 2019, which begin as the identity, too; without their
// bottleneck.
#pragma once

#include "swarm/base/result.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace stacking::stack {

/// In place: each row (C) divided by its root mean square.
void normalise_rows(std::span<float> rows, std::size_t width);

class Bridge {
 public:
    static Bridge zero(std::uint32_t inputs, std::uint32_t outputs);
    /// `parameters`: A, then b.
    static Bridge from(
        std::uint32_t inputs, std::uint32_t outputs, std::span<const float> parameters
    );
    static swarm::Result<Bridge> parse(std::span<const std::byte> file);

    [[nodiscard]] std::vector<std::byte> to_file() const;

    [[nodiscard]] std::uint32_t inputs() const { return inputs_; }

    [[nodiscard]] std::uint32_t outputs() const { return outputs_; }

    /// `normalised`: (R, C1); adds to `x` (R, C2).
    void add(std::span<const float> normalised, std::span<float> x) const;

 private:
    Bridge(std::uint32_t inputs, std::uint32_t outputs, std::vector<float> parameters)
        : inputs_(inputs), outputs_(outputs), parameters_(std::move(parameters)) {}

    std::uint32_t inputs_;
    std::uint32_t outputs_;
    std::vector<float> parameters_;
};

}  // namespace stacking::stack
