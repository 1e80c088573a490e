#include "compression/byte_planes.hpp"

#include "swarm/base/try.hpp"
#include "swarm/protocol/limits.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>
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

/// A constant width lets the compiler vectorise the loop.
template <std::size_t Width>
void gather(const std::byte* raw, std::size_t place, std::span<std::byte> plane) {
    for (std::size_t i = 0; i < plane.size(); ++i) {
        plane[i] = raw[Width * i + place];
    }
}

template <std::size_t Width>
void scatter(std::span<const std::byte> plane, std::size_t place, std::byte* raw) {
    for (std::size_t i = 0; i < plane.size(); ++i) {
        raw[Width * i + place] = plane[i];
    }
}

void gather(
    ElementBytes width, const std::byte* raw, std::size_t place, std::span<std::byte> plane
) {
    switch (width) {
        case ElementBytes::Two:
            return gather<2>(raw, place, plane);
        case ElementBytes::Four:
            return gather<4>(raw, place, plane);
        case ElementBytes::Eight:
            return gather<8>(raw, place, plane);
    }
}

void scatter(
    ElementBytes width, std::span<const std::byte> plane, std::size_t place, std::byte* raw
) {
    switch (width) {
        case ElementBytes::Two:
            return scatter<2>(plane, place, raw);
        case ElementBytes::Four:
            return scatter<4>(plane, place, raw);
        case ElementBytes::Eight:
            return scatter<8>(plane, place, raw);
    }
}

/// Writes the plane behind `packed`. Returns the bytes that it takes there.
std::size_t append_plane(std::span<const std::byte> plane, std::vector<std::byte>& packed) {
    const std::size_t begin = packed.size();
    packed.resize(begin + plane.size());
    // No room for more than the plane itself: then zstd fails, and the plane is stored raw.
    const std::size_t stored =
        ZSTD_compress(packed.data() + begin, plane.size(), plane.data(), plane.size(), kZstdLevel);
    if (ZSTD_isError(stored) != 0 || stored >= plane.size()) {
        std::ranges::copy(plane, packed.begin() + static_cast<std::ptrdiff_t>(begin));
        return plane.size();
    }
    packed.resize(begin + stored);
    return stored;
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
    std::vector<std::byte> plane(raw.size() / count_of(width));
    for (std::size_t place = 0; place < count_of(width); ++place) {
        gather(width, raw.data(), place, plane);
        const std::size_t stored = append_plane(plane, packed);
        put_number(packed, kHeaderNumbers + place, stored);
    }
    return packed;
}

Result<> unpack_planes(
    std::span<const std::byte> packed, ElementBytes width, std::span<std::byte> raw
) {
    SWARM_TRY(check_raw_size(raw.size(), width));
    SWARM_TRY(check_header(packed, width, raw.size()));
    std::vector<std::byte> plane(raw.size() / count_of(width));
    std::size_t begin = header_bytes(width);
    for (std::size_t place = 0; place < count_of(width); ++place) {
        const std::size_t stored = number_at(packed, kHeaderNumbers + place);
        const auto bytes = packed.subspan(begin, stored);
        begin += stored;
        if (stored == plane.size()) {
            scatter(width, bytes, place, raw.data());
            continue;
        }
        SWARM_TRY(read_frame(bytes, plane));
        scatter(width, plane, place, raw.data());
    }
    return {};
}

Result<std::vector<std::byte>> pack_integers(std::span<const std::int64_t> values) {
    SWARM_TRY(check_raw_size(values.size_bytes(), ElementBytes::Eight));
    std::vector<std::uint64_t> folded(values.size());
    std::ranges::transform(values, folded.begin(), [](std::int64_t value) {
        return static_cast<std::uint64_t>(value) << 1 ^ static_cast<std::uint64_t>(value >> 63);
    });
    return pack_planes(std::as_bytes(std::span(folded)), ElementBytes::Eight);
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
