#include "swarm/run/state_chunk.hpp"

#include "compression/byte_planes.hpp"
#include "swarm/base/rng.hpp"
#include "swarm/protocol/limits.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <span>
#include <vector>

namespace swarm::run {
namespace {

using protocol::CodecId;
using protocol::Dtype;
using protocol::kChunkBytes;
using Bytes = std::vector<std::byte>;

node::Payload raw_payload(Bytes bytes) {
    const auto size = static_cast<std::uint32_t>(bytes.size());
    return {{Dtype::Bytes, CodecId::None, {size}}, std::move(bytes)};
}

/// Bytes like a chunk of a state: sums of four uniform draws, and the squares of some of them.
node::Payload state_like(std::size_t bytes) {
    Rng rng(1, bytes);
    std::vector<float> values(bytes / sizeof(float));
    for (std::size_t i = 0; i < values.size(); ++i) {
        const double bell = rng.unit() + rng.unit() + rng.unit() + rng.unit() - 2;
        values[i] = static_cast<float>(3 * i < values.size() ? 1e-6 * bell * bell : 0.02 * bell);
    }
    const auto view = std::as_bytes(std::span(values));
    return raw_payload({view.begin(), view.end()});
}

node::Payload noise(std::size_t bytes) {
    Rng rng(2, bytes);
    Bytes random(bytes);
    for (std::byte& byte : random) {
        byte = static_cast<std::byte>(rng.below(256));
    }
    return raw_payload(std::move(random));
}

bool is_refused(const node::Payload& sent, std::uint64_t raw_bytes) {
    const auto raw = unpack_chunk(sent, raw_bytes);
    return raw.has_error() && raw.error().reaction == Reaction::Reject;
}

Bytes bytes_of(const node::Payload& payload) {
    return {payload.bytes().begin(), payload.bytes().end()};
}

/// A packed chunk of `raw_bytes` whose lowest plane is `frame`; the other planes are zeros.
node::Payload with_lowest_plane(const Bytes& frame, std::size_t raw_bytes) {
    const node::Payload zeros = pack_chunk(raw_payload(Bytes(raw_bytes)));
    constexpr std::size_t kHeader = 24;
    constexpr std::size_t kFirstPlaneSize = 8;
    Bytes packed = bytes_of(zeros);
    std::uint32_t size = 0;
    std::memcpy(&size, packed.data() + kFirstPlaneSize, sizeof size);
    const auto begin = packed.begin() + kHeader;
    packed.erase(begin, begin + size);
    packed.insert(packed.begin() + kHeader, frame.begin(), frame.end());
    size = static_cast<std::uint32_t>(frame.size());
    std::memcpy(packed.data() + kFirstPlaneSize, &size, sizeof size);
    return {zeros.envelope(), std::move(packed)};
}

/// The zstd frame of a plane of zeros.
Bytes frame_of_zeros(std::size_t count) {
    constexpr std::size_t kHeader = 16;
    constexpr std::size_t kFirstPlaneSize = 8;
    const Bytes packed =
        *compression::pack_planes(Bytes(2 * count), compression::ElementBytes::Two);
    std::uint32_t size = 0;
    std::memcpy(&size, packed.data() + kFirstPlaneSize, sizeof size);
    const auto begin = packed.begin() + kHeader;
    return {begin, begin + size};
}

}  // namespace

TEST(StateChunk, CountsTheShortLastOne) {
    EXPECT_EQ(chunk_count(kChunkBytes), 1U);
    EXPECT_EQ(chunk_count(kChunkBytes + 4), 2U);
    EXPECT_EQ(chunk_bytes(kChunkBytes + 4, 0), kChunkBytes);
    EXPECT_EQ(chunk_bytes(kChunkBytes + 4, 1), 4U);
}

TEST(StateChunk, TravelsSmallerAndComesBackWhole) {
    for (const std::size_t bytes : {std::size_t{4096}, kChunkBytes - 4, kChunkBytes}) {
        const node::Payload raw = state_like(bytes);
        const node::Payload sent = pack_chunk(raw);
        EXPECT_LT(sent.bytes().size() * 112, bytes * 100);
        const auto back = unpack_chunk(sent, bytes);
        ASSERT_TRUE(back) << back.error().detail;
        EXPECT_EQ(back->envelope(), raw.envelope());
        EXPECT_TRUE(std::ranges::equal(back->bytes(), raw.bytes()));
    }
}

TEST(StateChunk, IsPackedTheSameByEveryDonor) {
    EXPECT_EQ(bytes_of(pack_chunk(state_like(4096))), bytes_of(pack_chunk(state_like(4096))));
}

TEST(StateChunk, TravelsRawWhereItDoesNotShrink) {
    for (const std::size_t bytes : {std::size_t{4}, std::size_t{64}, kChunkBytes}) {
        const node::Payload raw = noise(bytes);
        const node::Payload sent = pack_chunk(raw);
        EXPECT_EQ(sent.envelope(), raw.envelope());
        EXPECT_EQ(sent.bytes().data(), raw.bytes().data()) << "not copied";
        EXPECT_TRUE(unpack_chunk(sent, bytes));
    }
}

TEST(StateChunk, AChunkOfAnotherSizeIsRefused) {
    const node::Payload raw = state_like(4096);
    const node::Payload sent = pack_chunk(raw);
    for (const std::size_t bytes : {std::size_t{4092}, std::size_t{4100}, kChunkBytes}) {
        EXPECT_TRUE(is_refused(raw, bytes));
        EXPECT_TRUE(is_refused(sent, bytes));
    }
}

TEST(StateChunk, IsRefusedWithAnEnvelopeThatItsLayoutDoesNotGive) {
    const node::Payload sent = pack_chunk(state_like(4096));
    for (const protocol::TensorEnvelope& envelope :
         {protocol::TensorEnvelope{Dtype::Int64, CodecId::BytePlanes, {512}},
          {Dtype::Float32, CodecId::BytePlanes, {1U << 26}},
          {Dtype::Float32, CodecId::BytePlanes, {2, 512}},
          {Dtype::Float32, CodecId::Int8, {1024}},
          {Dtype::Bytes, CodecId::None, {4096}}}) {
        EXPECT_TRUE(is_refused({envelope, bytes_of(sent)}, 4096));
    }
}

TEST(StateChunk, PlanesThatDidNotShrinkAreRefused) {
    Bytes padded = bytes_of(pack_chunk(state_like(4096)));
    const auto envelope = pack_chunk(state_like(4096)).envelope();
    padded.resize(4096);
    EXPECT_TRUE(is_refused({envelope, std::move(padded)}, 4096));
}

TEST(StateChunk, AChunkThatIsCutAnywhereIsRefused) {
    const node::Payload sent = pack_chunk(state_like(1024));
    const Bytes whole = bytes_of(sent);
    for (std::size_t size = 0; size < whole.size(); ++size) {
        Bytes cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
        ASSERT_TRUE(is_refused({sent.envelope(), std::move(cut)}, 1024)) << size;
    }
}

TEST(StateChunk, ABombIsRefused) {
    const Bytes bomb = frame_of_zeros(16 << 20);
    ASSERT_LT(bomb.size(), kChunkBytes / 4);
    EXPECT_TRUE(is_refused(with_lowest_plane(bomb, kChunkBytes), kChunkBytes));
    const Bytes honest = frame_of_zeros(kChunkBytes / 4);
    EXPECT_FALSE(is_refused(with_lowest_plane(honest, kChunkBytes), kChunkBytes));
}

TEST(StateChunk, AFrameWithADictionaryIsRefused) {
    Bytes frame = frame_of_zeros(1024);
    ASSERT_EQ(std::to_integer<int>(frame[4]) & 3, 0);
    frame[4] |= std::byte{1};  // the number of a dictionary follows, in one byte
    frame.insert(frame.begin() + 5, std::byte{77});
    const auto raw = unpack_chunk(with_lowest_plane(frame, 4096), 4096);
    ASSERT_TRUE(raw.has_error());
    EXPECT_NE(raw.error().detail.find("dictionary"), std::string::npos) << raw.error().detail;
}

}  // namespace swarm::run
