// Blocks of 256 values whose 16 levels are those of a table: IQ4_XS. IQ4_NL has the bytes of Q4_0.
#include "stacking/blocks/block_readers.hpp"

namespace stacking::blocks {

void read_iq4_xs(const std::byte* bytes, Block& block) {
    constexpr std::size_t kGroups = 8;
    constexpr int kOffset = 32;
    constexpr std::size_t kHalf = sizeof(std::uint16_t);
    const auto upper = load<std::uint16_t>(bytes + kHalf);
    const std::byte* const lower = bytes + 2 * kHalf;
    for (std::size_t i = 0; i < kGroups; ++i) {
        const auto pair = std::to_integer<unsigned>(lower[i / 2]);
        const unsigned low = (pair >> (4 * (i % 2))) & 0x0fU;
        const unsigned high = (unsigned{upper} >> (2 * i)) & 3U;
        block.factors[i] = static_cast<std::int8_t>(static_cast<int>(low | (high << 4U)) - kOffset);
    }
    block.scale = load<std::uint16_t>(bytes);
    read_fields<To::Set, 4, 16>(lower + kGroups / 2, kBlockValuesMax / 2, 0, block.codes.data());
}

}  // namespace stacking::blocks
