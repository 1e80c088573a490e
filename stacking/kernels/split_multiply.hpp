// A product whose outputs, and rows where there are many, are split over threads.
// Invariant: the bits are those of Kernels::multiply(), for any number of threads: each output of a
// row is one chain of operations in one thread (kernels.hpp).
// Threading: that of Workers. Errors: none. Cost: that of multiply(), over the threads; a thread
// reads the weights of its own outputs.
#pragma once

#include "stacking/kernels/joined_matrix.hpp"
#include "stacking/kernels/kernels.hpp"
#include "swarm/base/workers.hpp"

namespace stacking::kernels {

/// out[r][o] = sum over k of x[r][k] * w[o][k]
void split_multiply(
    swarm::Workers& workers,
    const Kernels& kernels,
    const MatrixView& matrix,
    const Rows& x,
    float* out,
    std::size_t out_stride
);

/// The same for each part; the parts' outputs are next to each other in `out`.
void split_multiply(
    swarm::Workers& workers,
    const Kernels& kernels,
    const JoinedMatrix& matrix,
    const Rows& x,
    float* out,
    std::size_t out_stride
);

}  // namespace stacking::kernels
