#include "stacking/kernels/block_layout.hpp"

#include <cstring>

namespace stacking::kernels {
namespace {

using blocks::Block;
using blocks::Coding;
using blocks::Factors;
using blocks::Minimum;

std::uint32_t get_word(const std::byte* row, std::size_t output) {
    std::uint32_t word = 0;
    std::memcpy(&word, row + output * sizeof word, sizeof word);
    return word;
}

const std::byte* add_part(
    Quads& quads, std::size_t bits, std::size_t from, const std::byte* row, std::size_t output
) {
    const std::size_t count = quads_per_row(bits);
    for (std::size_t first = 0; first < kUnitQuads; first += count, row += kRowBytes) {
        const std::uint32_t word = get_word(row, output);
        for (std::size_t i = 0; i < count; ++i) {
            quads[first + i] |= ((word >> (bits * i)) & low_bits(bits)) << from;
        }
    }
    return row;
}

/// Gives back the block that pack_blocks() was given for the output.
Block unpack_block(const Coding& coding, const std::byte* from, std::size_t output) {
    const BlockLayout layout = layout_of(coding);
    const CodeParts parts = parts_of(coding.bits);
    Block block;
    std::memcpy(&block.scale, from + output * sizeof block.scale, sizeof block.scale);
    if (coding.minimum != Minimum::None) {
        const std::byte* const minimums = from + kHalvesBytes;
        std::memcpy(&block.minimum, minimums + output * sizeof block.minimum, sizeof block.minimum);
    }
    const std::byte* at = from + layout.header_bytes;
    for (std::size_t unit = 0; unit < coding.values / kUnitInputs; ++unit) {
        for (std::size_t i = 0; i < layout.unit_groups && layout.group_bytes > 0; ++i) {
            const std::size_t group = unit * layout.unit_groups + i;
            const auto byte = std::to_integer<std::uint8_t>(at[output]);
            const bool paired = coding.factors == Factors::Paired;
            block.factors[group] = static_cast<std::int8_t>(paired ? byte & 0x0fU : byte);
            if (paired) {
                block.minimums[group] = static_cast<std::uint8_t>(byte >> 4U);
            } else if (coding.factors == Factors::Wide) {
                block.minimums[group] = std::to_integer<std::uint8_t>(at[kPanelOutputs + output]);
            }
            at += layout.group_bytes;
        }
        Quads quads{};
        at = add_part(quads, parts.lower, 0, at, output);
        if (parts.upper > 0) {
            at = add_part(quads, parts.upper, parts.lower, at, output);
        }
        std::memcpy(block.codes.data() + unit * kUnitInputs, quads.data(), kUnitInputs);
    }
    return block;
}

}  // namespace

void read_block_row(
    const Coding& coding, const std::byte* panel, std::size_t output, std::span<float> row
) {
    const std::size_t block_bytes = layout_of(coding).block_bytes;
    for (std::size_t first = 0; first < row.size(); first += coding.values) {
        decode_block(
            coding, unpack_block(coding, panel, output), row.subspan(first, coding.values)
        );
        panel += block_bytes;
    }
}

}  // namespace stacking::kernels
