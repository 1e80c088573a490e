// Measures products by weights in every format in which they are kept, on one thread.
// Unit: ns per weight and row; the figure of a format is the best of the turns that it took with
// the others, because a turn that was disturbed says nothing about the loop.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace swarm::bench {

/// Returns pairs such as {"q4_k_576x1536_1", ns}: type, outputs x inputs, rows.
std::vector<std::pair<std::string, double>> measure_kernels();

}  // namespace swarm::bench
