#include "stacking/kernels/split_multiply.hpp"

#include <algorithm>

namespace stacking::kernels {
namespace {

/// Rows of a tile on both vector paths. Another number would cost speed and change no bit.
constexpr std::size_t kTileRows = 6;
/// Minimum rows of a block: below, a tile is read from the caches too seldom.
constexpr std::size_t kBlockRows = 4 * kTileRows;

constexpr std::size_t divided_up(std::size_t value, std::size_t by) {
    return (value + by - 1) / by;
}

MatrixView panels_of(const MatrixView& matrix, std::size_t first, std::size_t count) {
    MatrixView part = matrix;
    part.panels += first * matrix.panel_bytes;
    part.outputs = std::min(count * kPanelOutputs, matrix.outputs - first * kPanelOutputs);
    return part;
}

/// Returns the number of rows of a block: all, unless there are too few panels for the threads.
std::size_t rows_of_block(const swarm::Workers& workers, std::size_t panels, std::size_t rows) {
    const std::size_t wanted =
        divided_up(workers.threads() * swarm::Workers::kPartsPerThread, panels);
    const std::size_t blocks = std::clamp<std::size_t>(rows / kBlockRows, 1, wanted);
    return divided_up(divided_up(rows, blocks), kTileRows) * kTileRows;
}

}  // namespace

void split_multiply(
    swarm::Workers& workers,
    const Kernels& kernels,
    const MatrixView& matrix,
    const Rows& x,
    float* out,
    std::size_t out_stride
) {
    if (workers.threads() == 1) {
        return kernels.multiply(matrix, x, out, out_stride);
    }
    const std::size_t panels = divided_up(matrix.outputs, kPanelOutputs);
    const std::size_t block = rows_of_block(workers, panels, x.count);
    const std::size_t work = kPanelOutputs * matrix.inputs * std::min(block, x.count);
    // The unit block x panels + panel is a panel times the rows of a block.
    workers.split(
        panels * divided_up(x.count, block),
        work,
        [&](swarm::UnitRange units, std::size_t /*thread*/) {
            while (units.begin < units.end) {
                const std::size_t panel = units.begin % panels;
                const std::size_t row = units.begin / panels * block;
                const std::size_t count = std::min(panels - panel, units.end - units.begin);
                kernels.multiply(
                    panels_of(matrix, panel, count),
                    {x.values + row * x.stride, std::min(block, x.count - row), x.stride},
                    out + row * out_stride + panel * kPanelOutputs,
                    out_stride
                );
                units.begin += count;
            }
        }
    );
}

void split_multiply(
    swarm::Workers& workers,
    const Kernels& kernels,
    const JoinedMatrix& matrix,
    const Rows& x,
    float* out,
    std::size_t out_stride
) {
    if (x.count == 0) {
        return;  // then `out` may be null, to which nothing may be added
    }
    for (const PackedMatrix& part : matrix.parts()) {
        split_multiply(workers, kernels, part.view(), x, out, out_stride);
        out += part.outputs();
    }
}

}  // namespace stacking::kernels
