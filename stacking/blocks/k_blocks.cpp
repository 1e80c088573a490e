// Blocks of 256 values, in groups of 16 or 32 whose scales are integers: Q2_K to Q6_K.
#include "stacking/blocks/block_readers.hpp"

namespace stacking::blocks {
namespace {

constexpr std::size_t kHalf = sizeof(std::uint16_t);
constexpr std::size_t kBitPlane = kBlockValuesMax / 8;
constexpr std::size_t kPairPlane = kBlockValuesMax / 4;
constexpr std::size_t kNibblePlane = kBlockValuesMax / 2;
constexpr std::size_t kWideBytes = 12;  // 16 numbers of 6 bits
constexpr std::size_t kWideGroups = 8;
constexpr std::uint8_t kSixBits = 0x3f;

std::uint8_t byte_at(const std::byte* bytes, std::size_t at) {
    return std::to_integer<std::uint8_t>(bytes[at]);
}

/// Reads 8 scales and 8 minimums. The last four of each have their lower bits in the third part,
/// and their upper two bits above those of the first four.
void read_wide_factors(const std::byte* bytes, Block& block) {
    constexpr std::size_t kPart = 4;
    for (std::size_t i = 0; i < kPart; ++i) {
        const unsigned scale = byte_at(bytes, i);
        const unsigned minimum = byte_at(bytes, kPart + i);
        const unsigned lower = byte_at(bytes, 2 * kPart + i);
        block.factors[i] = static_cast<std::int8_t>(scale & kSixBits);
        block.minimums[i] = static_cast<std::uint8_t>(minimum & kSixBits);
        block.factors[kPart + i] =
            static_cast<std::int8_t>((lower & 0x0fU) | ((scale >> 2U) & 0x30U));
        block.minimums[kPart + i] =
            static_cast<std::uint8_t>((lower >> 4U) | ((minimum >> 2U) & 0x30U));
    }
    static_assert(kWideGroups == 2 * kPart);
}

}  // namespace

void read_q2_k(const std::byte* bytes, Block& block) {
    for (std::size_t i = 0; i < kGroupsMax; ++i) {
        block.factors[i] = static_cast<std::int8_t>(byte_at(bytes, i) & 0x0fU);
        block.minimums[i] = static_cast<std::uint8_t>(byte_at(bytes, i) >> 4U);
    }
    const std::byte* const codes = bytes + kGroupsMax;
    read_fields<To::Set, 2, 32>(codes, kPairPlane, 0, block.codes.data());
    block.scale = load<std::uint16_t>(codes + kPairPlane);
    block.minimum = load<std::uint16_t>(codes + kPairPlane + kHalf);
}

void read_q3_k(const std::byte* bytes, Block& block) {
    constexpr std::size_t kLowerBytes = 8;
    constexpr std::size_t kUpperBytes = 4;
    constexpr int kOffset = 32;
    const std::byte* const codes = bytes + kBitPlane;
    read_fields<To::Set, 2, 32>(codes, kPairPlane, 0, block.codes.data());
    read_fields<To::Add, 1, 32>(bytes, kBitPlane, 2, block.codes.data());
    const std::byte* const scales = codes + kPairPlane;
    std::array<std::uint8_t, kGroupsMax> factors{};
    read_fields<To::Set, 4, kLowerBytes>(scales, kLowerBytes, 0, factors.data());
    read_fields<To::Add, 2, kUpperBytes>(scales + kLowerBytes, kUpperBytes, 4, factors.data());
    for (std::size_t i = 0; i < kGroupsMax; ++i) {
        block.factors[i] = static_cast<std::int8_t>(factors[i] - kOffset);
    }
    block.scale = load<std::uint16_t>(scales + kWideBytes);
}

void read_q4_k(const std::byte* bytes, Block& block) {
    block.scale = load<std::uint16_t>(bytes);
    block.minimum = load<std::uint16_t>(bytes + kHalf);
    read_wide_factors(bytes + 2 * kHalf, block);
    read_fields<To::Set, 4, 32>(
        bytes + 2 * kHalf + kWideBytes, kNibblePlane, 0, block.codes.data()
    );
}

void read_q5_k(const std::byte* bytes, Block& block) {
    block.scale = load<std::uint16_t>(bytes);
    block.minimum = load<std::uint16_t>(bytes + kHalf);
    read_wide_factors(bytes + 2 * kHalf, block);
    const std::byte* const fifth = bytes + 2 * kHalf + kWideBytes;
    read_fields<To::Set, 4, 32>(fifth + kBitPlane, kNibblePlane, 0, block.codes.data());
    read_fields<To::Add, 1, 32>(fifth, kBitPlane, 4, block.codes.data());
}

void read_q6_k(const std::byte* bytes, Block& block) {
    const std::byte* const upper = bytes + kNibblePlane;
    const std::byte* const scales = upper + kPairPlane;
    read_fields<To::Set, 4, 64>(bytes, kNibblePlane, 0, block.codes.data());
    read_fields<To::Add, 2, 32>(upper, kPairPlane, 4, block.codes.data());
    std::memcpy(block.factors.data(), scales, kGroupsMax);
    block.scale = load<std::uint16_t>(scales + kGroupsMax);
}

}  // namespace stacking::blocks
