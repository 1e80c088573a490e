// Numbers as Parquet stores them: little-endian, and varints of at most 32 bits.
// Threading: pure functions. Errors: no value where the bytes end, or say more than 32 bits.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>

namespace swarm::data::parquet {

static_assert(std::endian::native == std::endian::little);

/// Requires four bytes from `at` on.
inline std::uint32_t u32_at(std::string_view bytes, std::size_t at) {
    std::uint32_t value = 0;
    std::memcpy(&value, bytes.data() + at, sizeof(value));
    return value;
}

/// Returns the number of `width` bits, at most 32, from this bit on. Requires that they are there.
inline std::uint32_t bits_at(std::string_view bytes, std::uint64_t bit, unsigned width) {
    const std::size_t first = bit / 8;
    const unsigned shift = bit % 8;
    const std::size_t count = (shift + width + 7) / 8;  // at most 5
    std::uint64_t window = 0;
    std::memcpy(&window, bytes.data() + first, count);
    return static_cast<std::uint32_t>((window >> shift) & ((std::uint64_t{1} << width) - 1));
}

/// Takes a varint of at most 32 bits at `at`, which goes on behind it.
inline std::optional<std::uint32_t> take_varint(std::string_view bytes, std::size_t& at) {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 35 && at < bytes.size(); shift += 7) {
        const auto next = static_cast<std::uint8_t>(bytes[at++]);
        value |= std::uint64_t{next & 0x7FU} << shift;
        if ((next & 0x80U) == 0) {
            return (value >> 32) == 0 ? std::optional(static_cast<std::uint32_t>(value))
                                      : std::nullopt;
        }
    }
    return std::nullopt;
}

}  // namespace swarm::data::parquet
