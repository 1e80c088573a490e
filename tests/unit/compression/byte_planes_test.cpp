#include "compression/byte_planes.hpp"

#include "swarm/base/rng.hpp"
#include "swarm/protocol/limits.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <zdict.h>
#include <zstd.h>

namespace compression {
namespace {

using swarm::ErrorCode;
using swarm::Reaction;
using swarm::Rng;
using Bytes = std::vector<std::byte>;

constexpr std::array kWidths{ElementBytes::Two, ElementBytes::Four, ElementBytes::Eight};

Bytes random_bytes(std::size_t count, std::uint64_t bound) {
    Rng rng(count, bound);
    Bytes bytes(count);
    for (std::byte& byte : bytes) {
        byte = static_cast<std::byte>(rng.below(bound));
    }
    return bytes;
}

/// Sums of four uniform draws: bell-shaped, like weights.
std::vector<float> weights(std::size_t count) {
    Rng rng(1, count);
    std::vector<float> values(count);
    for (float& value : values) {
        value = static_cast<float>(0.02 * (rng.unit() + rng.unit() + rng.unit() + rng.unit() - 2));
    }
    return values;
}

void put_number(Bytes& bytes, std::size_t index, std::size_t number) {
    const auto narrow = static_cast<std::uint32_t>(number);
    std::memcpy(bytes.data() + 4 * index, &narrow, sizeof narrow);
}

/// Elements of 2 bytes, the upper ones 0; the lower plane is `frame`.
Bytes with_lower_plane(const Bytes& frame, std::size_t elements) {
    Bytes packed(16);
    put_number(packed, 0, 2);
    put_number(packed, 1, 2 * elements);
    put_number(packed, 2, frame.size());
    put_number(packed, 3, elements);
    packed.insert(packed.end(), frame.begin(), frame.end());
    packed.resize(packed.size() + elements);
    return packed;
}

Bytes frame_of(const Bytes& plane) {
    Bytes frame(ZSTD_compressBound(plane.size()));
    frame.resize(ZSTD_compress(frame.data(), frame.size(), plane.data(), plane.size(), 1));
    return frame;
}

ErrorCode refusal_of(const Bytes& packed, ElementBytes width, std::size_t raw_bytes) {
    Bytes raw(raw_bytes);
    const auto unpacked = unpack_planes(packed, width, raw);
    EXPECT_TRUE(unpacked.has_error());
    if (!unpacked.has_error()) {
        return ErrorCode::Usage;
    }
    EXPECT_EQ(unpacked.error().reaction, Reaction::Reject);
    return unpacked.error().code;
}

TEST(BytePlanes, GiveBackTheBytesOfEverySizeAndWidth) {
    for (const ElementBytes width : kWidths) {
        for (const std::size_t elements : {0, 1, 2, 7, 64, 1000, 70'001}) {
            for (const std::uint64_t bound : {1, 3, 256}) {
                const Bytes raw = random_bytes(elements * static_cast<std::size_t>(width), bound);
                const auto packed = pack_planes(raw, width);
                ASSERT_TRUE(packed.has_value()) << packed.error().detail;
                EXPECT_LE(packed->size(), packed_bytes_max(raw.size(), width));
                Bytes back(raw.size());
                const auto unpacked = unpack_planes(*packed, width, back);
                ASSERT_TRUE(unpacked.has_value()) << unpacked.error().detail;
                EXPECT_EQ(back, raw) << elements << " elements, bytes below " << bound;
            }
        }
    }
}

TEST(BytePlanes, ShrinkWeightsMoreThanZstdAlone) {
    const std::vector<float> values = weights(1 << 18);
    const auto raw = std::as_bytes(std::span(values));
    const auto packed = pack_planes(raw, ElementBytes::Four);
    ASSERT_TRUE(packed.has_value());
    const Bytes plain = frame_of({raw.begin(), raw.end()});
    EXPECT_LT(packed->size() * 112, raw.size() * 100);
    EXPECT_LT(packed->size() * 105, plain.size() * 100);
}

TEST(BytePlanes, FoldSignsSoThatSmallIntegersTakeLittle) {
    Rng rng(3, 4);
    std::vector<std::int64_t> values(20'000);
    for (std::int64_t& value : values) {
        value = static_cast<std::int64_t>(rng.below(1 << 24)) - (1 << 23);
    }
    values[0] = std::numeric_limits<std::int64_t>::min();
    values[1] = std::numeric_limits<std::int64_t>::max();
    values[2] = -1;
    const auto packed = pack_integers(values);
    ASSERT_TRUE(packed.has_value());
    EXPECT_LT(packed->size() * 10, values.size() * 32);
    std::vector<std::int64_t> back(values.size());
    ASSERT_TRUE(unpack_integers(*packed, back).has_value());
    EXPECT_EQ(back, values);
}

TEST(BytePlanes, RefuseToPackHalfElementsAndMoreThanATensor) {
    EXPECT_EQ(pack_planes(Bytes(6), ElementBytes::Four).error().code, ErrorCode::Malformed);
    // Only the size is looked at, so nothing has to lie there.
    const std::byte* const somewhere = nullptr;
    const std::span<const std::byte> large(somewhere, swarm::protocol::kTensorBytesMax + 8);
    EXPECT_EQ(pack_planes(large, ElementBytes::Four).error().code, ErrorCode::TooLarge);
}

TEST(BytePlanes, RefuseAnotherWidthOrSizeThanTheReceiverKnows) {
    const auto packed = pack_planes(random_bytes(64, 4), ElementBytes::Four);
    EXPECT_EQ(refusal_of(*packed, ElementBytes::Two, 64), ErrorCode::Mismatch);
    EXPECT_EQ(refusal_of(*packed, ElementBytes::Four, 60), ErrorCode::Mismatch);
    EXPECT_EQ(refusal_of(*packed, ElementBytes::Four, 1 << 20), ErrorCode::Mismatch);
    Bytes claims = *packed;
    put_number(claims, 1, 0xffff'fffcU);  // 4 GiB
    EXPECT_EQ(refusal_of(claims, ElementBytes::Four, 64), ErrorCode::Mismatch);
    put_number(claims, 1, 64);
    put_number(claims, 2, 0xffff'ffffU);
    EXPECT_EQ(refusal_of(claims, ElementBytes::Four, 64), ErrorCode::Malformed);
}

TEST(BytePlanes, RefuseEveryTruncationAndExtension) {
    const Bytes raw = random_bytes(4096, 3);
    const Bytes whole = *pack_planes(raw, ElementBytes::Four);
    for (std::size_t size = 0; size < whole.size(); ++size) {
        const Bytes cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
        ASSERT_EQ(refusal_of(cut, ElementBytes::Four, raw.size()), ErrorCode::Malformed) << size;
    }
    Bytes longer = whole;
    longer.push_back(std::byte{0});
    EXPECT_EQ(refusal_of(longer, ElementBytes::Four, raw.size()), ErrorCode::Malformed);
}

TEST(BytePlanes, SurviveRandomByteFlips) {
    const Bytes raw = random_bytes(512, 3);
    const Bytes whole = *pack_planes(raw, ElementBytes::Four);
    Rng rng(5, 6);
    int refused = 0;
    for (int flip = 0; flip < 100'000; ++flip) {
        Bytes bytes = whole;
        bytes[rng.below(bytes.size())] = static_cast<std::byte>(rng.below(256));
        Bytes back(raw.size());
        const auto unpacked = unpack_planes(bytes, ElementBytes::Four, back);
        refused += unpacked.has_error() ? 1 : 0;
    }
    EXPECT_GT(refused, 1000);
}

TEST(BytePlanes, RefuseABomb) {
    const Bytes bomb = frame_of(Bytes(64 << 20));
    ASSERT_LT(bomb.size(), 8192U);
    // The frame first states its true size; then it lies, and states the size of the plane.
    Bytes liar = bomb;
    const std::uint32_t plane_bytes = 10'000;
    EXPECT_EQ(ZSTD_getFrameContentSize(liar.data(), liar.size()), 64U << 20);
    std::memcpy(liar.data() + 5 + (std::to_integer<int>(liar[4]) & 0x20 ? 0 : 1), &plane_bytes, 4);
    EXPECT_EQ(ZSTD_getFrameContentSize(liar.data(), liar.size()), plane_bytes);
    for (const Bytes& frame : {bomb, liar}) {
        const Bytes packed = with_lower_plane(frame, plane_bytes);
        EXPECT_EQ(refusal_of(packed, ElementBytes::Two, 2 * plane_bytes), ErrorCode::Malformed);
    }
}

TEST(BytePlanes, RefuseFramesOfAnotherForm) {
    const Bytes plane = random_bytes(1000, 4);
    const Bytes good = frame_of(plane);
    Bytes raw(2000);
    ASSERT_TRUE(unpack_planes(with_lower_plane(good, 1000), ElementBytes::Two, raw).has_value());
    Bytes two = frame_of({plane.begin(), plane.begin() + 500});
    const Bytes second = frame_of({plane.begin() + 500, plane.end()});
    two.insert(two.end(), second.begin(), second.end());
    Bytes skippable{
        std::byte{0x50},
        std::byte{0x2a},
        std::byte{0x4d},
        std::byte{0x18},
        std::byte{0},
        std::byte{0},
        std::byte{0},
        std::byte{0}};
    skippable.insert(skippable.end(), good.begin(), good.end());
    ZSTD_CCtx* const context = ZSTD_createCCtx();
    ZSTD_CCtx_setParameter(context, ZSTD_c_contentSizeFlag, 0);
    Bytes sizeless(2000);
    sizeless.resize(
        ZSTD_compress2(context, sizeless.data(), sizeless.size(), plane.data(), plane.size())
    );
    ZSTD_freeCCtx(context);
    for (const Bytes& frame : {two, skippable, sizeless}) {
        ASSERT_LT(frame.size(), 1000U);
        EXPECT_EQ(
            refusal_of(with_lower_plane(frame, 1000), ElementBytes::Two, 2000), ErrorCode::Malformed
        );
    }
}

TEST(BytePlanes, RefuseAForeignDictionary) {
    Bytes samples;
    std::vector<std::size_t> sizes;
    for (std::uint64_t i = 0; i < 200; ++i) {
        const Bytes sample = random_bytes(200 + i, 5);
        samples.insert(samples.end(), sample.begin(), sample.end());
        sizes.push_back(sample.size());
    }
    Bytes dictionary(4096);
    const std::size_t size = ZDICT_trainFromBuffer(
        dictionary.data(), dictionary.size(), samples.data(), sizes.data(), 200
    );
    ASSERT_EQ(ZDICT_isError(size), 0U) << ZDICT_getErrorName(size);
    const Bytes plane(samples.begin(), samples.begin() + 1000);
    ZSTD_CCtx* const context = ZSTD_createCCtx();
    Bytes frame(2000);
    frame.resize(ZSTD_compress_usingDict(
        context, frame.data(), frame.size(), plane.data(), plane.size(), dictionary.data(), size, 1
    ));
    ZSTD_freeCCtx(context);
    ASSERT_NE(ZSTD_getDictID_fromFrame(frame.data(), frame.size()), 0U);
    const Bytes packed = with_lower_plane(frame, 1000);
    Bytes raw(2000);
    const auto unpacked = unpack_planes(packed, ElementBytes::Two, raw);
    ASSERT_TRUE(unpacked.has_error());
    EXPECT_NE(unpacked.error().detail.find("dictionary"), std::string::npos);
}

}  // namespace
}  // namespace compression
