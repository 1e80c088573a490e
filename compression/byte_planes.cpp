#include "compression/byte_planes.hpp"

#include "swarm/base/try.hpp"
#include "swarm/protocol/limits.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <memory>
#include <string>
#include <type_traits>
#include <zstd.h>

namespace compression {
namespace {

using swarm::Error;
using swarm::ErrorCode;
using swarm::Reaction;
using swarm::protocol::kTensorBytesMax;

static_assert(std::endian::native == std::endian::little, "numbers travel as they lie in memory");
static_assert(kTensorBytesMax <= 0xffff'ffffU, "sizes are 32 bits wide");

constexpr int kZstdLevel = 1;
constexpr std::size_t kNumberBytes = sizeof(std::uint32_t);
constexpr std::size_t kHeaderNumbers = 2;  // width, raw bytes
constexpr std::size_t kWidthMost = 8;

Error refused(ErrorCode code, const std::string& detail) {
    return {code, Reaction::Reject, "byte planes: " + detail};
}

std::size_t count_of(ElementBytes width) {
    return static_cast<std::size_t>(width);
}

std::size_t header_bytes(ElementBytes width) {
    return kNumberBytes * (kHeaderNumbers + count_of(width));
}

std::uint32_t number_at(std::span<const std::byte> bytes, std::size_t index) {
    std::uint32_t number = 0;
    std::memcpy(&number, bytes.data() + kNumberBytes * index, sizeof number);
    return number;
}

void put_number(std::span<std::byte> bytes, std::size_t index, std::size_t number) {
    const auto narrow = static_cast<std::uint32_t>(number);
    std::memcpy(bytes.data() + kNumberBytes * index, &narrow, sizeof narrow);
}

Result<> check_raw_size(std::size_t bytes, ElementBytes width) {
    if (bytes > kTensorBytesMax) {
        return refused(
            ErrorCode::TooLarge,
            std::to_string(bytes) + " bytes, " + std::to_string(kTensorBytesMax) +
                " is the limit; send it in parts"
        );
    }
    if (bytes % count_of(width) != 0) {
        return refused(
            ErrorCode::Malformed,
            std::to_string(bytes) + " bytes are no whole elements of " +
                std::to_string(count_of(width))
        );
    }
    return {};
}

/// Elements that are taken apart or put together at a time: what lies between stays in the cache.
constexpr std::size_t kBlockElements = 256;

template <class Wide>
using HalfOf = std::conditional_t<
    sizeof(Wide) == 8,
    std::uint32_t,
    std::conditional_t<sizeof(Wide) == 4, std::uint16_t, std::uint8_t>>;

template <class Number>
using Block = std::array<Number, kBlockElements>;

/// Splits the numbers into halves, and those again, down to bytes: loops that the compiler
/// vectorises, which a loop over every eighth byte is not.
template <class Wide, class Plane>
void split_block(const Block<Wide>& numbers, std::size_t count, std::span<Plane> planes) {
    using Half = HalfOf<Wide>;
    Block<Half> low;
    Block<Half> high;
    for (std::size_t i = 0; i < count; ++i) {
        low[i] = static_cast<Half>(numbers[i]);
        high[i] = static_cast<Half>(numbers[i] >> (8 * sizeof(Half)));
    }
    if constexpr (sizeof(Half) == 1) {
        std::memcpy(planes[0], low.data(), count);
        std::memcpy(planes[1], high.data(), count);
    } else {
        split_block(low, count, planes.first(sizeof(Half)));
        split_block(high, count, planes.last(sizeof(Half)));
    }
}

/// The opposite of split_block().
template <class Wide, class Plane>
void join_block(std::span<Plane> planes, std::size_t count, Block<Wide>& numbers) {
    using Half = HalfOf<Wide>;
    Block<Half> low;
    Block<Half> high;
    if constexpr (sizeof(Half) == 1) {
        std::memcpy(low.data(), planes[0], count);
        std::memcpy(high.data(), planes[1], count);
    } else {
        join_block(planes.first(sizeof(Half)), count, low);
        join_block(planes.last(sizeof(Half)), count, high);
    }
    for (std::size_t i = 0; i < count; ++i) {
        numbers[i] = static_cast<Wide>(low[i] | static_cast<Wide>(high[i]) << (8 * sizeof(Half)));
    }
}

template <class Wide>
void split_numbers(std::span<const std::byte> raw, std::byte* planes) {
    const std::size_t elements = raw.size() / sizeof(Wide);
    Block<Wide> numbers;
    for (std::size_t done = 0; done < elements; done += kBlockElements) {
        const std::size_t count = std::min(kBlockElements, elements - done);
        std::memcpy(numbers.data(), raw.data() + done * sizeof(Wide), count * sizeof(Wide));
        std::array<std::byte*, sizeof(Wide)> places;
        for (std::size_t place = 0; place < places.size(); ++place) {
            places[place] = planes + place * elements + done;
        }
        split_block(numbers, count, std::span<std::byte*>(places));
    }
}

template <class Wide>
void join_numbers(std::span<const std::byte* const> planes, std::span<std::byte> raw) {
    const std::size_t elements = raw.size() / sizeof(Wide);
    Block<Wide> numbers;
    for (std::size_t done = 0; done < elements; done += kBlockElements) {
        const std::size_t count = std::min(kBlockElements, elements - done);
        std::array<const std::byte*, sizeof(Wide)> places;
        for (std::size_t place = 0; place < places.size(); ++place) {
            places[place] = planes[place] + done;
        }
        join_block(std::span<const std::byte*>(places), count, numbers);
        std::memcpy(raw.data() + done * sizeof(Wide), numbers.data(), count * sizeof(Wide));
    }
}

/// Writes all planes to `planes`, one behind the other.
void split(ElementBytes width, std::span<const std::byte> raw, std::byte* planes) {
    switch (width) {
        case ElementBytes::Two:
            return split_numbers<std::uint16_t>(raw, planes);
        case ElementBytes::Four:
            return split_numbers<std::uint32_t>(raw, planes);
        case ElementBytes::Eight:
            return split_numbers<std::uint64_t>(raw, planes);
    }
}

void join(ElementBytes width, std::span<const std::byte* const> planes, std::span<std::byte> raw) {
    switch (width) {
        case ElementBytes::Two:
            return join_numbers<std::uint16_t>(planes, raw);
        case ElementBytes::Four:
            return join_numbers<std::uint32_t>(planes, raw);
        case ElementBytes::Eight:
            return join_numbers<std::uint64_t>(planes, raw);
    }
}

/// Memory that is written before it is read: filling it with zeros would be another pass.
template <class Element>
std::unique_ptr<Element[]> memory_for(std::size_t count) {
    return std::make_unique_for_overwrite<Element[]>(count);
}

/// Writes the plane behind `packed`. Returns the bytes that it takes there. `room` has as many
/// bytes as the plane and no more: where zstd needs more, it fails, and the plane is stored as is.
std::size_t append_plane(
    std::span<const std::byte> plane, std::span<std::byte> room, std::vector<std::byte>& packed
) {
    const std::size_t stored =
        ZSTD_compress(room.data(), room.size(), plane.data(), plane.size(), kZstdLevel);
    const bool shrank = ZSTD_isError(stored) == 0 && stored < plane.size();
    const std::span<const std::byte> kept = shrank ? room.first(stored) : plane;
    packed.insert(packed.end(), kept.begin(), kept.end());
    return kept.size();
}

/// Decompresses one frame. All claims of the frame are compared before a byte is decompressed.
Result<> read_frame(std::span<const std::byte> frame, std::span<std::byte> plane) {
    // The magic number keeps out skippable frames and the library's decoders for old formats.
    const bool one_frame = frame.size() > kNumberBytes && number_at(frame, 0) == ZSTD_MAGICNUMBER &&
                           ZSTD_findFrameCompressedSize(frame.data(), frame.size()) == frame.size();
    if (!one_frame || ZSTD_getFrameContentSize(frame.data(), frame.size()) != plane.size()) {
        return refused(
            ErrorCode::Malformed,
            "a plane is not one zstd frame of " + std::to_string(plane.size()) +
                " bytes; drop the tensor"
        );
    }
    if (ZSTD_getDictID_fromFrame(frame.data(), frame.size()) != 0) {
        return refused(ErrorCode::Malformed, "a plane asks for a dictionary; drop the tensor");
    }
    const std::size_t written =
        ZSTD_decompress(plane.data(), plane.size(), frame.data(), frame.size());
    if (written != plane.size()) {
        const char* const reason =
            ZSTD_isError(written) != 0 ? ZSTD_getErrorName(written) : "too short";
        return refused(
            ErrorCode::Malformed, "a plane's zstd frame is damaged: " + std::string(reason)
        );
    }
    return {};
}

/// Checks width and raw size, and that the planes' sizes add up to the bytes that are there.
Result<> check_header(std::span<const std::byte> packed, ElementBytes width, std::size_t raw) {
    if (packed.size() < header_bytes(width)) {
        return refused(ErrorCode::Malformed, "shorter than its header; drop the tensor");
    }
    if (number_at(packed, 0) != count_of(width) || number_at(packed, 1) != raw) {
        return refused(
            ErrorCode::Mismatch,
            std::to_string(number_at(packed, 1)) + " bytes of width " +
                std::to_string(number_at(packed, 0)) + " where " + std::to_string(raw) +
                " of width " + std::to_string(count_of(width)) + " belong; drop the tensor"
        );
    }
    std::uint64_t total = header_bytes(width);
    for (std::size_t place = 0; place < count_of(width); ++place) {
        const std::uint32_t stored = number_at(packed, kHeaderNumbers + place);
        if (stored > raw / count_of(width)) {
            return refused(ErrorCode::Malformed, "a plane larger than it may be; drop the tensor");
        }
        total += stored;
    }
    if (total != packed.size()) {
        return refused(
            ErrorCode::Malformed,
            std::to_string(packed.size()) + " bytes where the planes take " +
                std::to_string(total) + "; drop the tensor"
        );
    }
    return {};
}

}  // namespace

std::uint64_t packed_bytes_max(std::uint64_t raw_bytes, ElementBytes width) {
    return header_bytes(width) + raw_bytes;
}

Result<std::vector<std::byte>> pack_planes(std::span<const std::byte> raw, ElementBytes width) {
    SWARM_TRY(check_raw_size(raw.size(), width));
    std::vector<std::byte> packed(header_bytes(width));
    packed.reserve(packed_bytes_max(raw.size(), width));
    put_number(packed, 0, count_of(width));
    put_number(packed, 1, raw.size());
    const std::size_t plane_bytes = raw.size() / count_of(width);
    const auto planes = memory_for<std::byte>(raw.size() + plane_bytes);
    split(width, raw, planes.get());
    const std::span<std::byte> room(planes.get() + raw.size(), plane_bytes);
    for (std::size_t place = 0; place < count_of(width); ++place) {
        const std::span<const std::byte> plane(planes.get() + place * plane_bytes, plane_bytes);
        const std::size_t stored = append_plane(plane, room, packed);
        put_number(packed, kHeaderNumbers + place, stored);
    }
    return packed;
}

Result<> unpack_planes(
    std::span<const std::byte> packed, ElementBytes width, std::span<std::byte> raw
) {
    SWARM_TRY(check_raw_size(raw.size(), width));
    SWARM_TRY(check_header(packed, width, raw.size()));
    const std::size_t plane_bytes = raw.size() / count_of(width);
    const auto unpacked = memory_for<std::byte>(raw.size());
    std::array<const std::byte*, kWidthMost> planes{};
    std::size_t begin = header_bytes(width);
    for (std::size_t place = 0; place < count_of(width); ++place) {
        const std::size_t stored = number_at(packed, kHeaderNumbers + place);
        const auto bytes = packed.subspan(begin, stored);
        begin += stored;
        if (stored == plane_bytes) {
            planes[place] = bytes.data();
            continue;
        }
        const std::span<std::byte> plane(unpacked.get() + place * plane_bytes, plane_bytes);
        SWARM_TRY(read_frame(bytes, plane));
        planes[place] = plane.data();
    }
    join(width, std::span(planes).first(count_of(width)), raw);
    return {};
}

Result<std::vector<std::byte>> pack_integers(std::span<const std::int64_t> values) {
    SWARM_TRY(check_raw_size(values.size_bytes(), ElementBytes::Eight));
    const auto folded = memory_for<std::uint64_t>(values.size());
    std::ranges::transform(values, folded.get(), [](std::int64_t value) {
        return static_cast<std::uint64_t>(value) << 1 ^ static_cast<std::uint64_t>(value >> 63);
    });
    return pack_planes(std::as_bytes(std::span(folded.get(), values.size())), ElementBytes::Eight);
}

Result<> unpack_integers(std::span<const std::byte> packed, std::span<std::int64_t> values) {
    SWARM_TRY(unpack_planes(packed, ElementBytes::Eight, std::as_writable_bytes(values)));
    for (std::int64_t& value : values) {
        const auto folded = static_cast<std::uint64_t>(value);
        value = static_cast<std::int64_t>(folded >> 1 ^ (~(folded & 1) + 1));
    }
    return {};
}

}  // namespace compression
