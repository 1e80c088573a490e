// Blocks of 32 values with scales of their own: Q4_0, Q4_1, Q5_0, Q5_1, Q8_0.
#include "stacking/blocks/block_readers.hpp"

namespace stacking::blocks {
namespace {

constexpr std::size_t kHalf = sizeof(std::uint16_t);
constexpr std::size_t kNibbleBytes = 16;
constexpr std::size_t kFifthBytes = 4;

void add_nibbles(const std::byte* bytes, Block& block) {
    read_fields<To::Set, 4, kNibbleBytes>(bytes, kNibbleBytes, 0, block.codes.data());
}

/// Reads the fifth bits of 32 values, then their nibbles.
void add_five_bits(const std::byte* bytes, Block& block) {
    add_nibbles(bytes + kFifthBytes, block);
    read_fields<To::Add, 1, 1>(bytes, kFifthBytes, 4, block.codes.data());
}

}  // namespace

void read_q4_0(const std::byte* bytes, Block& block) {
    block.scale = load<std::uint16_t>(bytes);
    add_nibbles(bytes + kHalf, block);
}

void read_q4_1(const std::byte* bytes, Block& block) {
    block.scale = load<std::uint16_t>(bytes);
    block.minimum = load<std::uint16_t>(bytes + kHalf);
    add_nibbles(bytes + 2 * kHalf, block);
}

void read_q5_0(const std::byte* bytes, Block& block) {
    block.scale = load<std::uint16_t>(bytes);
    add_five_bits(bytes + kHalf, block);
}

void read_q5_1(const std::byte* bytes, Block& block) {
    block.scale = load<std::uint16_t>(bytes);
    block.minimum = load<std::uint16_t>(bytes + kHalf);
    add_five_bits(bytes + 2 * kHalf, block);
}

void read_q8_0(const std::byte* bytes, Block& block) {
    constexpr std::size_t kValues = 32;
    block.scale = load<std::uint16_t>(bytes);
    std::memcpy(block.codes.data(), bytes + kHalf, kValues);
}

}  // namespace stacking::blocks
