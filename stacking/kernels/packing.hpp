// Puts rows of weights into panels (packed_layout.hpp): each walks through the inputs of 64 rows at
// once, so that what it writes stays in the first cache.
// Threading: pure functions; threads may write different panels of a matrix at the same time.
// Errors: none; the caller checks sizes. Cost: 0.1 to 0.4 ns per weight that is stored as the panel
// has it, 0.3 to 0.9 for quantised blocks and for levels. Source: own.
#pragma once

#include "stacking/kernels/kernels.hpp"

#include <cstddef>
#include <span>

namespace stacking::kernels {

/// Rows that follow each other in a panel, all of them in the same one.
struct PanelRows {
    const std::byte* from = nullptr;  // the first row
    std::size_t row_bytes = 0;
    std::size_t count = 0;
    std::size_t inputs = 0;
    std::byte* panel = nullptr;
    std::size_t output = 0;  // place of the first row in the panel
};

/// Packs rows whose weights stay as they are. Returns false when a weight is infinite or no number.
/// REQUIRES: the type is F32, F16 or BF16.
[[nodiscard]] bool pack_plain(blocks::WeightType type, const PanelRows& rows);

/// Packs quantised blocks. Returns false when a block has an infinite scale, or one that is no
/// number.
[[nodiscard]] bool pack_blocks(blocks::WeightType type, const PanelRows& rows);

/// Packs rows of F8_E4M3 and their scales, (rows, groups of kF8Group inputs). Returns false when a
/// product is infinite or no number.
[[nodiscard]] bool pack_f8(const PanelRows& rows, std::span<const float> scales);

/// Packs rows of fp32 in a format that PackedMatrix::add_rows() makes.
void pack_values(WeightFormat format, const PanelRows& rows);

}  // namespace stacking::kernels
