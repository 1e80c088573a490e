#include "stacking/kernels/block_layout.hpp"

#include <array>
#include <cstring>

namespace stacking::kernels {
namespace {

using blocks::Block;
using blocks::Coding;
using blocks::Factors;
using blocks::Minimum;

using Quads = std::array<std::uint32_t, kUnitQuads>;

constexpr std::uint32_t kEveryByte = 0x01010101;

/// Fields of `bits` bits that a word of a row has for each of its bytes.
constexpr std::size_t quads_per_row(std::size_t bits) {
    return 8 / bits;
}

constexpr std::uint32_t mask_of(std::size_t bits) {
    return kEveryByte * ((1U << bits) - 1);
}

/// The widths of the one or two parts of a code; the second is above the first.
struct Parts {
    std::size_t lower = 0;
    std::size_t upper = 0;
};

constexpr Parts parts_of(std::size_t bits) {
    if (bits == 3) {
        return {2, 1};
    }
    return bits == 5 ? Parts{4, 1} : bits == 6 ? Parts{4, 2} : Parts{bits, 0};
}

std::uint32_t get_word(const std::byte* row, std::size_t output) {
    std::uint32_t word = 0;
    std::memcpy(&word, row + output * sizeof word, sizeof word);
    return word;
}

/// Writes the fields of kBits bits that begin at bit `from` of the codes.
template <std::size_t kBits>
std::byte* put_fields(const Quads& quads, std::size_t from, std::byte* row, std::size_t output) {
    constexpr std::size_t kCount = quads_per_row(kBits);
    for (std::size_t first = 0; first < kUnitQuads; first += kCount, row += kRowBytes) {
        std::uint32_t word = 0;
        for (std::size_t i = 0; i < kCount; ++i) {
            word |= ((quads[first + i] >> from) & mask_of(kBits)) << (kBits * i);
        }
        std::memcpy(row + output * sizeof word, &word, sizeof word);
    }
    return row;
}

std::byte* put_part(
    const Quads& quads, std::size_t bits, std::size_t from, std::byte* row, std::size_t output
) {
    switch (bits) {
        case 1:
            return put_fields<1>(quads, from, row, output);
        case 2:
            return put_fields<2>(quads, from, row, output);
        case 4:
            return put_fields<4>(quads, from, row, output);
        default:
            return put_fields<8>(quads, from, row, output);
    }
}

const std::byte* add_part(
    Quads& quads, std::size_t bits, std::size_t from, const std::byte* row, std::size_t output
) {
    const std::size_t count = quads_per_row(bits);
    for (std::size_t first = 0; first < kUnitQuads; first += count, row += kRowBytes) {
        const std::uint32_t word = get_word(row, output);
        for (std::size_t i = 0; i < count; ++i) {
            quads[first + i] |= ((word >> (bits * i)) & mask_of(bits)) << from;
        }
    }
    return row;
}

/// Gives back what pack_block() was given for the output.
Block unpack_block(const Coding& coding, const std::byte* from, std::size_t output) {
    const BlockLayout layout = layout_of(coding);
    const Parts parts = parts_of(coding.bits);
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

void pack_block(const Coding& coding, const Block& block, std::byte* to, std::size_t output) {
    const BlockLayout layout = layout_of(coding);
    const Parts parts = parts_of(coding.bits);
    std::memcpy(to + output * sizeof block.scale, &block.scale, sizeof block.scale);
    if (coding.minimum != Minimum::None) {
        std::byte* const minimums = to + kHalvesBytes;
        std::memcpy(minimums + output * sizeof block.minimum, &block.minimum, sizeof block.minimum);
    }
    std::byte* at = to + layout.header_bytes;
    for (std::size_t unit = 0; unit < coding.values / kUnitInputs; ++unit) {
        for (std::size_t i = 0; i < layout.unit_groups && layout.group_bytes > 0; ++i) {
            const std::size_t group = unit * layout.unit_groups + i;
            const auto factor = static_cast<std::uint8_t>(block.factors[group]);
            const std::uint8_t minimum = block.minimums[group];
            const bool paired = coding.factors == Factors::Paired;
            at[output] = static_cast<std::byte>(paired ? factor | (minimum << 4) : factor);
            if (coding.factors == Factors::Wide) {
                at[kPanelOutputs + output] = static_cast<std::byte>(minimum);
            }
            at += layout.group_bytes;
        }
        Quads quads{};
        std::memcpy(quads.data(), block.codes.data() + unit * kUnitInputs, kUnitInputs);
        at = put_part(quads, parts.lower, 0, at, output);
        if (parts.upper > 0) {
            at = put_part(quads, parts.upper, parts.lower, at, output);
        }
    }
}

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
