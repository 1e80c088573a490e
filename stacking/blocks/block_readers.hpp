// Readers of single blocks, a family in a file each. Private to this folder.
//   Q4_0    18 bytes: fp16 d, 16 bytes of nibbles: value j in the low half of byte j, j + 16 above
//   Q4_1    20 bytes: fp16 d, fp16 m, nibbles          Q8_0  34 bytes: fp16 d, 32 x int8
//   Q5_0    22 bytes: fp16 d, u32 fifth bits, nibbles  Q5_1  24 bytes: the same with m after d
//   Q2_K    84: 16 x (scale, minimum), 64 x 4 codes, d, dmin
//   Q3_K   110: 32 x 8 third bits, 64 x 4 codes, 16 scales of 6 bits, d
//   Q4_K   144: d, dmin, 8 x (scale, minimum) of 6 bits, 128 x 2 codes
//   Q5_K   176: the same with 32 x 8 fifth bits before the codes
//   Q6_K   210: 128 x 2 codes, 64 x 4 upper codes, 16 x int8 scales, d
//   IQ4_NL  18: as Q4_0        IQ4_XS 136: d, 8 scales of 6 bits (upper, lower parts), nibbles
// Threading: pure functions. Errors: none.
#pragma once

#include "stacking/blocks/coding.hpp"

#include <cstring>
#include <type_traits>

namespace stacking::blocks {

template <class T>
T load(const std::byte* bytes) {
    T value;
    std::memcpy(&value, bytes, sizeof(T));
    return value;
}

enum class To { Set, Add };

/// Sets codes to fields of kBits bits, or adds the fields to them, `shift` bits up. Bytes come in
/// runs of kRun: the lowest fields of a run's bytes belong to the next kRun values, the fields
/// above to those after them.
template <To kTo, std::size_t kBits, std::size_t kRun>
void read_fields(const std::byte* from, std::size_t bytes, unsigned shift, std::uint8_t* codes) {
    // A word takes 8 bytes at once where runs are long enough.
    using Word = std::conditional_t<
        kRun % 8 == 0,
        std::uint64_t,
        std::conditional_t<kRun % 4 == 0, std::uint32_t, std::uint8_t>>;
    constexpr Word kEveryByte = static_cast<Word>(0x0101010101010101);
    constexpr Word kMask = static_cast<Word>(kEveryByte * ((1U << kBits) - 1));
    for (std::size_t run = 0; run < bytes; run += kRun) {
        for (std::size_t field = 0; field < 8 / kBits; ++field) {
            for (std::size_t i = 0; i < kRun; i += sizeof(Word), codes += sizeof(Word)) {
                const auto word = static_cast<Word>(load<Word>(from + run + i) >> (kBits * field));
                Word sum = 0;
                if constexpr (kTo == To::Add) {
                    std::memcpy(&sum, codes, sizeof sum);
                }
                sum = static_cast<Word>(sum | ((word & kMask) << shift));
                std::memcpy(codes, &sum, sizeof sum);
            }
        }
    }
}

void read_q4_0(const std::byte* bytes, Block& block);
void read_q4_1(const std::byte* bytes, Block& block);
void read_q5_0(const std::byte* bytes, Block& block);
void read_q5_1(const std::byte* bytes, Block& block);
void read_q8_0(const std::byte* bytes, Block& block);
void read_q2_k(const std::byte* bytes, Block& block);
void read_q3_k(const std::byte* bytes, Block& block);
void read_q4_k(const std::byte* bytes, Block& block);
void read_q5_k(const std::byte* bytes, Block& block);
void read_q6_k(const std::byte* bytes, Block& block);
void read_iq4_xs(const std::byte* bytes, Block& block);

}  // namespace stacking::blocks
