// The square-cube law of SWARM: how busy a device of this machine is at a width and a depth, when
// it computes a stage's microbatch and then sends what belongs to it over a line, one after the
// other. Computing grows with the square of the width and with the layers, the bytes with the width
// alone, so a wide or deep stage hides the slowest line.
// Figures: seconds of one forward and one backward in the middle of a pipeline (B = 1, T = 128,
// fp32, one thread), bytes of its two tensors, and the busy share of a line, all measured but the
// line. Threading: one caller. Cost: a minute a round; 2 GB of memory.
// Source: Ryabinin et al. 2023, section 3.1 and figure 3. Deviation: nothing overlaps here, which
// is the worst case; a window of microbatches hides more.
#pragma once

#include "swarm/base/result.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace swarm::bench {

struct SquareCubePoint {
    std::uint32_t width = 0;
    std::uint32_t layers = 0;
    double compute_s = 0;
    std::uint64_t bytes = 0;  // up and down together

    /// "4x256": layers and width.
    [[nodiscard]] std::string name() const {
        return std::to_string(layers) + "x" + std::to_string(width);
    }

    /// The share of its time that the device computes.
    [[nodiscard]] double busy(double bytes_per_s) const {
        return compute_s / (compute_s + static_cast<double>(bytes) / bytes_per_s);
    }
};

/// The line of the plot: 100 Mbit/s.
inline constexpr double kSquareCubeLine_bytes_per_s = 12.5e6;

/// Measures all widths and depths once. Errors: Unsupported (no LibTorch).
Result<std::vector<SquareCubePoint>> measure_square_cube();

/// A curve for each depth: width on a logarithmic axis, busy share in percent.
std::string square_cube_svg(const std::vector<SquareCubePoint>& points);

}  // namespace swarm::bench
