#include "compression/sparse.hpp"

#include "swarm/base/rng.hpp"
#include "tests/unit/compression/bytes_of.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

namespace compression {
namespace {

using swarm::ErrorCode;
using swarm::Rng;
using test::bytes_of;

using Bytes = std::vector<std::byte>;
using Values = std::vector<float>;

const Codec& codec() {
    return *find_codec("sparse");
}

Bytes encoded(const Values& values) {
    Bytes bytes(codec().encoded_bytes(values.size()));
    const auto done = codec().encode(values, TensorRole::PseudoGradient, 0, bytes);
    EXPECT_TRUE(done.has_value()) << done.error().detail;
    return bytes;
}

Values decoded(const Bytes& bytes, std::size_t elements) {
    Values values(elements);
    const auto done = codec().decode(bytes, values);
    EXPECT_TRUE(done.has_value()) << done.error().detail;
    return values;
}

/// Three entries of 192 values, with every part of the format in use.
Values three_of_192() {
    Values values(192, 0.0F);
    values[5] = -8;
    values[100] = 2;
    values[191] = 4;
    return values;
}

Values noise(std::size_t elements, std::uint64_t seed) {
    Rng rng(seed, elements);
    Values values(elements);
    for (float& value : values) {
        value = static_cast<float>(rng.unit() - 0.5);
    }
    return values;
}

TEST(SparseCodec, WritesLevelsPlacesAndCodes) {
    // 8 is above the mean of 8, 2 and 4; the others become their mean, 3.
    EXPECT_EQ(
        encoded(three_of_192()),
        bytes_of(
            {0x00, 0x10, 0x40, 0x00, 0x40, 0x40, 0x00, 0x41, 0x05, 0x40, 0x06, 0xbf, 0x00, 0x03}
        )
    );
    const Values back = decoded(encoded(three_of_192()), 192);
    EXPECT_EQ(back[5], -8.0F);
    EXPECT_EQ(back[100], 3.0F);
    EXPECT_EQ(back[191], 3.0F);
    EXPECT_EQ(std::ranges::count(back, 0.0F), 189);
}

TEST(SparseCodec, SendsOneValueOf64WhateverTheSize) {
    for (const std::size_t elements : {1, 63, 64, 65, 4095, 4096, 4097, 8192, 100'000}) {
        const Values back = decoded(encoded(noise(elements, 3)), elements);
        const auto sent = back.size() - static_cast<std::size_t>(std::ranges::count(back, 0.0F));
        EXPECT_EQ(sent, (elements + 63) / 64) << elements;
    }
    EXPECT_EQ(encoded(Values(std::size_t{1} << 20, 1.0F)).size(), 4U + 256 * 116);
}

TEST(SparseCodec, KeepsTheLargestOfEachChunkAndOfEqualOnesTheFirst) {
    const Values values = noise(4096 + 640, 4);
    const Values back = decoded(encoded(values), values.size());
    for (const auto& [begin, count, kept] : {std::array{0, 4096, 64}, std::array{4096, 640, 10}}) {
        Values magnitudes;
        for (int i = begin; i < begin + count; ++i) {
            magnitudes.push_back(std::fabs(values[static_cast<std::size_t>(i)]));
        }
        std::sort(magnitudes.rbegin(), magnitudes.rend());
        const float least = magnitudes[static_cast<std::size_t>(kept) - 1];
        for (int i = begin; i < begin + count; ++i) {
            const auto at = static_cast<std::size_t>(i);
            EXPECT_EQ(back[at] != 0, std::fabs(values[at]) >= least) << i;
        }
    }
    const Values ties = decoded(encoded(Values(4096, -0.25F)), 4096);
    for (std::size_t i = 0; i < ties.size(); ++i) {
        EXPECT_EQ(ties[i], i < 64 ? -0.25F : 0.0F) << i;
    }
}

TEST(SparseCodec, IsExactWhereFewValuesAreNotZeroAndHaveTwoMagnitudes) {
    Values values(4096, 0.0F);
    values[17] = 0.5F;
    values[4095] = -0.5F;
    values[3000] = 0.0625F;
    EXPECT_EQ(decoded(encoded(values), values.size()), values);
    const Values tiny(300, 0x1p-127F);
    EXPECT_EQ(decoded(encoded(tiny), tiny.size()), Values(300, 0.0F));
}

TEST(SparseCodec, LeavesLessThanThereWas) {
    Rng rng(8, 9);
    for (int round = 0; round < 50; ++round) {
        Values values = noise(1 + rng.below(9000), rng.next());
        for (float& value : values) {
            value = std::ldexp(value, static_cast<int>(rng.below(40)));
        }
        const Values back = decoded(encoded(values), values.size());
        double before = 0;
        double after = 0;
        for (std::size_t i = 0; i < values.size(); ++i) {
            before += std::pow(double{values[i]}, 2);
            after += std::pow(double{values[i]} - back[i], 2);
        }
        ASSERT_LT(after, before) << "round " << round;
    }
}

TEST(SparseCodec, RefusesEveryOtherRoleWithTheReason) {
    for (const TensorRole role : kTensorRoles) {
        const auto served = codec().check_role(role);
        EXPECT_EQ(served.has_value(), role == TensorRole::PseudoGradient);
        if (served.has_error()) {
            EXPECT_NE(served.error().detail.find("error buffer"), std::string::npos);
        }
    }
}

/// The code of a reader's error for the bytes of three_of_192() with one of them changed.
ErrorCode refusal_with(std::size_t place, int value) {
    Bytes bytes = encoded(three_of_192());
    bytes[place] = static_cast<std::byte>(value);
    Values out(192);
    const auto done = codec().decode(bytes, out);
    EXPECT_TRUE(done.has_error()) << place << " = " << value;
    return done.has_error() ? done.error().code : ErrorCode::Usage;
}

TEST(SparseCodec, RefusesBytesThatNoEncoderWrites) {
    EXPECT_EQ(refusal_with(1, 0x20), ErrorCode::Malformed) << "a foreign chunk size";
    EXPECT_EQ(refusal_with(2, 0), ErrorCode::Malformed) << "none kept";
    EXPECT_EQ(refusal_with(2, 32), ErrorCode::Malformed) << "another number kept";
    EXPECT_EQ(refusal_with(11, 0xc0), ErrorCode::Malformed) << "place 192 of 192";
    EXPECT_EQ(refusal_with(11, 0x63), ErrorCode::Malformed) << "places out of order";
    EXPECT_EQ(refusal_with(12, 0x10), ErrorCode::Malformed) << "bits behind the last place";
    EXPECT_EQ(refusal_with(13, 0x43), ErrorCode::Malformed) << "bits behind the last code";
}

bool reads_levels(int low, int high) {
    Bytes bytes = encoded(three_of_192());
    for (const auto& [place, level] : {std::pair{4U, low}, std::pair{6U, high}}) {
        bytes[place] = static_cast<std::byte>(level & 0xff);
        bytes[place + 1] = static_cast<std::byte>(level >> 8);
    }
    Values out(192);
    return codec().decode(bytes, out).has_value();
}

TEST(SparseCodec, RefusesLevelsThatNoEncoderWrites) {
    EXPECT_TRUE(reads_levels(0x4040, 0x4100));
    EXPECT_TRUE(reads_levels(0x0080, 0x7f7f));
    EXPECT_FALSE(reads_levels(0x4040, 0x7f80)) << "infinity";
    EXPECT_FALSE(reads_levels(0x4040, 0x7fc0)) << "NaN";
    EXPECT_FALSE(reads_levels(0x7fc0, 0x7fc0)) << "NaN";
    EXPECT_FALSE(reads_levels(0xffc0, 0x4100)) << "negative NaN";
    EXPECT_FALSE(reads_levels(0x4040, 0xc100)) << "negative";
    EXPECT_FALSE(reads_levels(0x4101, 0x4100)) << "low above high";
    EXPECT_FALSE(reads_levels(0x007f, 0x4100)) << "below 2^-126";
    EXPECT_FALSE(reads_levels(0, 0x4100)) << "low zero";
    EXPECT_FALSE(reads_levels(0x4040, 0)) << "high zero";
    EXPECT_FALSE(reads_levels(0, 0)) << "entries of a chunk that is zeros";
}

TEST(SparseCodec, RefusesFillingsThatNoEncoderWrites) {
    Values one(192, 0.0F);
    one[100] = -3;
    const Bytes whole = encoded(one);
    ASSERT_EQ(
        whole,
        bytes_of(
            {0x00, 0x10, 0x40, 0x00, 0x40, 0x40, 0x40, 0x40, 0x64, 0x40, 0x06, 0x64, 0x00, 0x03}
        )
    );
    EXPECT_EQ(decoded(whole, 192), one);
    Values out(192);
    Bytes another_code = whole;
    another_code[13] = std::byte{0x13};
    EXPECT_TRUE(codec().decode(another_code, out).has_error());
    Bytes on_again = whole;
    on_again[11] = std::byte{0x65};
    EXPECT_TRUE(codec().decode(on_again, out).has_error());
    Bytes nothing = encoded(Values(192, 0.0F));
    nothing[8] = std::byte{1};
    EXPECT_TRUE(codec().decode(nothing, out).has_error());
    EXPECT_EQ(nothing.size(), whole.size());
}

}  // namespace
}  // namespace compression
