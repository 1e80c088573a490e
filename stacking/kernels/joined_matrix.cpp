#include "stacking/kernels/joined_matrix.hpp"

#include "swarm/base/check.hpp"

#include <utility>

namespace stacking::kernels {

void JoinedMatrix::add(PackedMatrix part) {
    SWARM_ASSERT(parts_.empty() || part.inputs() == inputs());
    outputs_ += part.outputs();
    parts_.push_back(std::move(part));
}

void JoinedMatrix::read_row(std::size_t output, std::span<float> row) const {
    SWARM_ASSERT(output < outputs_);
    for (const PackedMatrix& part : parts_) {
        if (output < part.outputs()) {
            return part.read_row(output, row);
        }
        output -= part.outputs();
    }
}

std::size_t JoinedMatrix::bytes() const {
    std::size_t bytes = 0;
    for (const PackedMatrix& part : parts_) {
        bytes += part.bytes();
    }
    return bytes;
}

}  // namespace stacking::kernels
