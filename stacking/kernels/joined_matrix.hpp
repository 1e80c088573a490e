// Matrices that read the same input, one below the other, each in a format of its own.
// Invariant: outputs are counted through the parts; a product has the bits of the parts' products.
// Threading: const and any thread; add() from one thread. Errors: none; parts have equal inputs
// (SWARM_ASSERT).
#pragma once

#include "stacking/kernels/packed_matrix.hpp"

#include <vector>

namespace stacking::kernels {

class JoinedMatrix {
 public:
    void add(PackedMatrix part);

    /// Writes the weights of one output as they are after packing, (inputs).
    void read_row(std::size_t output, std::span<float> row) const;

    [[nodiscard]] const std::vector<PackedMatrix>& parts() const { return parts_; }

    [[nodiscard]] std::size_t outputs() const { return outputs_; }

    [[nodiscard]] std::size_t inputs() const { return parts_.empty() ? 0 : parts_[0].inputs(); }

    [[nodiscard]] std::size_t bytes() const;

 private:
    std::vector<PackedMatrix> parts_;
    std::size_t outputs_ = 0;
};

}  // namespace stacking::kernels
