// The layout of a packed matrix of quantised blocks, for panels of 64 outputs (packed_layout.hpp).
// Blocks of 32 or 256 inputs follow each other; a block has, for the 64 outputs next to each other:
//   fp16 scales, fp16 minimums if the type has them, then units of 32 inputs, of which each has
//   the factors of its groups, one byte per output: Wide has two such rows, scale and minimum;
//   codes, in rows of one 32-bit word per output (unit_rows())
// A quad is four neighbouring inputs of an output: the four bytes of a word. Fields of a word:
//   8 bits  quad q is row q              4 bits  quad 2r is the low half of row r's bytes, 2r + 1
//   the high half                        2 bits  quad 4r + i is bits 2i, 2i + 1 of row r's bytes
//   1 bit   quad q is bit q of the row's bytes;  3 = 2 and 1 above, 5 = 4 and 1, 6 = 4 and 2
// Invariant: the packed bytes are at most 1.04 times those of the file, but for the last panel.
// Threading: constants and pure functions. Errors: none.
#pragma once

#include "stacking/blocks/coding.hpp"
#include "stacking/kernels/kernels.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace stacking::kernels {

inline constexpr std::size_t kUnitInputs = 32;
inline constexpr std::size_t kQuadInputs = 4;
inline constexpr std::size_t kUnitQuads = kUnitInputs / kQuadInputs;
inline constexpr std::size_t kRowBytes = kPanelOutputs * sizeof(std::uint32_t);  // words
inline constexpr std::size_t kHalvesBytes = kPanelOutputs * sizeof(std::uint16_t);

/// Rows of words of a unit.
constexpr std::size_t unit_rows(std::size_t bits) {
    return bits;  // 32 inputs of `bits` bits
}

struct BlockLayout {
    std::size_t inputs = 0;        // per block
    std::size_t header_bytes = 0;  // scales and minimums
    std::size_t group_bytes = 0;   // factors of one group
    std::size_t unit_groups = 0;
    std::size_t unit_bytes = 0;
    std::size_t block_bytes = 0;

    [[nodiscard]] constexpr std::size_t factor_bytes() const { return group_bytes * unit_groups; }
};

constexpr BlockLayout layout_of(const blocks::Coding& coding) {
    BlockLayout layout;
    layout.inputs = coding.values;
    layout.header_bytes = coding.minimum == blocks::Minimum::None ? kHalvesBytes : 2 * kHalvesBytes;
    layout.group_bytes = coding.factors == blocks::Factors::None   ? 0
                         : coding.factors == blocks::Factors::Wide ? 2 * kPanelOutputs
                                                                   : kPanelOutputs;
    layout.unit_groups = kUnitInputs / coding.group;
    layout.unit_bytes = layout.factor_bytes() + unit_rows(coding.bits) * kRowBytes;
    layout.block_bytes = layout.header_bytes + coding.values / kUnitInputs * layout.unit_bytes;
    return layout;
}

/// The widths of the one or two parts of a code; the second is above the first.
struct CodeParts {
    std::size_t lower = 0;
    std::size_t upper = 0;
};

constexpr CodeParts parts_of(std::size_t bits) {
    if (bits == 3) {
        return {2, 1};
    }
    return bits == 5 ? CodeParts{4, 1} : bits == 6 ? CodeParts{4, 2} : CodeParts{bits, 0};
}

/// Fields of `bits` bits that a word of a row has for each of its bytes.
constexpr std::size_t quads_per_row(std::size_t bits) {
    return 8 / bits;
}

/// The lowest `bits` bits of each byte of a word.
constexpr std::uint32_t low_bits(std::size_t bits) {
    return 0x01010101U * ((1U << bits) - 1);
}

/// The codes of a unit; a quad's first input is in its lowest byte.
using Quads = std::array<std::uint32_t, kUnitQuads>;

/// Bytes of a panel. REQUIRES: `inputs` are whole blocks.
constexpr std::size_t panel_bytes(blocks::WeightType type, std::size_t inputs) {
    const BlockLayout layout = layout_of(blocks::coding_of(type));
    return inputs / layout.inputs * layout.block_bytes;
}

/// Decodes the row of an output of a panel, with the bits of blocks::decode_weights().
void read_block_row(
    const blocks::Coding& coding, const std::byte* panel, std::size_t output, std::span<float> row
);

}  // namespace stacking::kernels
