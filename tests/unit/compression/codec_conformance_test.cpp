// What every registered codec must do. A new codec adds its size formula and its error bound to
// the two switches below; all tests then judge it.
#include "compression/codec.hpp"
#include "compression/int8.hpp"
#include "swarm/base/rng.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cfloat>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

namespace compression {
namespace {

using swarm::ErrorCode;
using swarm::Reaction;
using swarm::Rng;

using Bytes = std::vector<std::byte>;
using Values = std::vector<float>;

std::uint64_t documented_size(CodecId id, std::uint64_t n) {
    switch (id) {
        case CodecId::None:
            return 4 * n;
        case CodecId::Int8:
            return n + 4 * ((n + 63) / 64);
    }
    ADD_FAILURE() << "state the size formula of codec " << static_cast<int>(id);
    return 0;
}

/// Largest allowed error of element `index`.
float documented_error(CodecId id, const Values& values, std::size_t index) {
    switch (id) {
        case CodecId::None:
            return 0;
        case CodecId::Int8: {
            const std::size_t begin = index / kInt8Group * kInt8Group;
            float largest = 0;
            for (std::size_t i = begin; i < std::min(begin + kInt8Group, values.size()); ++i) {
                largest = std::max(largest, std::fabs(values[i]));
            }
            return int8_error_bound(largest);
        }
    }
    ADD_FAILURE() << "state the error bound of codec " << static_cast<int>(id);
    return 0;
}

/// Whatever the bytes: what decodes is finite.
constexpr float kDecodedMax = std::numeric_limits<float>::max();

class CodecConformance : public testing::TestWithParam<const Codec*> {
 protected:
    const Codec& codec() const { return *GetParam(); }

    Bytes encode(const Values& values) const {
        Bytes bytes(codec().encoded_bytes(values.size()));
        EXPECT_TRUE(codec().encode(values, TensorRole::Activation, 7, bytes).has_value());
        return bytes;
    }

    Values decode(const Bytes& bytes, std::size_t elements) const {
        Values values(elements);
        EXPECT_TRUE(codec().decode(bytes, values).has_value());
        return values;
    }

    void expect_within_bound(const Values& values, const std::string& what) const {
        const Values back = decode(encode(values), values.size());
        for (std::size_t i = 0; i < values.size(); ++i) {
            const double error = std::fabs(static_cast<double>(values[i]) - back[i]);
            ASSERT_LE(error, documented_error(codec().id(), values, i))
                << what << ", element " << i << " of " << values.size() << ": " << values[i];
        }
    }
};

Values noise(std::size_t elements, double magnitude, std::uint64_t seed) {
    Rng rng(seed, elements);
    Values values(elements);
    for (float& value : values) {
        value = static_cast<float>((2 * rng.unit() - 1) * magnitude);
    }
    return values;
}

const std::vector<std::size_t>& adversarial_sizes() {
    static const std::vector<std::size_t> sizes{0, 1, 2, 3, 63, 64, 65, 127, 128, 129, 1000, 4097};
    return sizes;
}

TEST_P(CodecConformance, SizeIsTheDocumentedFormula) {
    for (std::uint64_t n = 0; n < 1000; ++n) {
        ASSERT_EQ(codec().encoded_bytes(n), documented_size(codec().id(), n)) << n;
    }
    EXPECT_EQ(codec().encoded_bytes(1ULL << 26), documented_size(codec().id(), 1ULL << 26));
}

TEST_P(CodecConformance, ErrorStaysWithinTheBoundForEverySizeAndMagnitude) {
    for (const std::size_t elements : adversarial_sizes()) {
        for (const double magnitude : {1.0, 1e-3, 1e4, 1e-30, 1e-38, 1e-42, 1e30, 3.4e38}) {
            expect_within_bound(
                noise(elements, magnitude, 11), "magnitude " + std::to_string(magnitude)
            );
        }
    }
}

TEST_P(CodecConformance, ErrorStaysWithinTheBoundForSpecialValues) {
    for (const float value :
         {0.0F, -0.0F, 1.0F, -1.0F, FLT_MAX, -FLT_MAX, FLT_MIN, FLT_MIN / 2, 0x1p-149F, 1e-40F}) {
        for (const std::size_t elements : adversarial_sizes()) {
            expect_within_bound(Values(elements, value), "constant " + std::to_string(value));
        }
    }
    expect_within_bound({FLT_MAX, -FLT_MAX, FLT_MAX / 254, 1.0F, 0x1p-149F}, "mixed magnitudes");
}

TEST_P(CodecConformance, RandomBitPatternsStayWithinTheBound) {
    Rng rng(5, 6);
    for (int round = 0; round < 300; ++round) {
        Values values(1 + rng.below(150));
        const std::uint64_t span = rng.chance(1, 2) ? 0x7f800000U : 1U << 24;
        const std::uint64_t lowest = rng.below(0x7f800000U - span + 1);
        for (float& value : values) {
            const auto magnitude = static_cast<std::uint32_t>(lowest + rng.below(span));
            value = std::bit_cast<float>(magnitude | (rng.chance(1, 2) ? 0x80000000U : 0U));
        }
        expect_within_bound(values, "round " + std::to_string(round));
    }
}

TEST_P(CodecConformance, ZerosAreExact) {
    const Values zeros(130, 0.0F);
    EXPECT_EQ(decode(encode(zeros), zeros.size()), zeros);
}

TEST_P(CodecConformance, WhatWasDecodedSurvivesAnotherRoundUnchanged) {
    for (const double magnitude : {1.0, 1e-38, 1e-44, 3.4e38}) {
        for (const std::size_t elements : adversarial_sizes()) {
            const Values once = decode(encode(noise(elements, magnitude, 12)), elements);
            ASSERT_EQ(decode(encode(once), elements), once) << magnitude << ", " << elements;
        }
    }
}

TEST_P(CodecConformance, SameValuesAndSeedGiveTheSameBytes) {
    const Values values = noise(777, 1, 13);
    EXPECT_EQ(encode(values), encode(values));
}

TEST_P(CodecConformance, NanAndInfinityAreRefusedAtEveryPlace) {
    const float infinity = std::numeric_limits<float>::infinity();
    const float nan = std::numeric_limits<float>::quiet_NaN();
    for (const float bad : {infinity, -infinity, nan, -nan}) {
        for (std::size_t place = 0; place < 130; ++place) {
            Values values(130, 1.0F);
            values[place] = bad;
            Bytes bytes(codec().encoded_bytes(values.size()));
            const auto encoded = codec().encode(values, TensorRole::Activation, 0, bytes);
            ASSERT_TRUE(encoded.has_error()) << bad << " at " << place;
            ASSERT_EQ(encoded.error().code, ErrorCode::NotFinite);
            ASSERT_EQ(encoded.error().reaction, Reaction::Reject);
        }
    }
}

TEST_P(CodecConformance, AnOutputOfTheWrongSizeIsRefused) {
    const Values values(65, 1.0F);
    for (const int difference : {-65, -1, 1, 4}) {
        const auto size = static_cast<std::size_t>(
            static_cast<int>(codec().encoded_bytes(values.size())) + difference
        );
        Bytes bytes(size);
        EXPECT_TRUE(codec().encode(values, TensorRole::Activation, 0, bytes).has_error()) << size;
    }
}

TEST_P(CodecConformance, EveryTruncationAndExtensionIsRefused) {
    const Values values = noise(131, 1, 14);
    const Bytes whole = encode(values);
    Values out(values.size());
    for (std::size_t size = 0; size < whole.size(); ++size) {
        const Bytes cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
        const auto decoded = codec().decode(cut, out);
        ASSERT_TRUE(decoded.has_error()) << size;
        ASSERT_EQ(decoded.error().code, ErrorCode::Malformed);
    }
    Bytes longer = whole;
    longer.push_back(std::byte{0});
    EXPECT_TRUE(codec().decode(longer, out).has_error());
}

TEST_P(CodecConformance, RandomByteFlipsFailCleanlyOrDecodeToFiniteValues) {
    const Bytes whole = encode(noise(131, 1, 15));
    Rng rng(16, 17);
    int refused = 0;
    for (int flip = 0; flip < 10'000; ++flip) {
        Bytes bytes = whole;
        for (std::uint64_t count = 1 + rng.below(4); count > 0; --count) {
            bytes[rng.below(bytes.size())] = static_cast<std::byte>(rng.below(256));
        }
        Values out(131);
        const auto decoded = codec().decode(bytes, out);
        if (decoded.has_error()) {
            ++refused;
            ASSERT_EQ(decoded.error().reaction, Reaction::Reject) << "flip " << flip;
            continue;
        }
        for (const float value : out) {
            ASSERT_LE(std::fabs(value), kDecodedMax) << "flip " << flip;
        }
    }
    EXPECT_GT(refused, 0);
}

std::vector<const Codec*> every_codec() {
    std::vector<const Codec*> codecs;
    for (int id = 0; id < 256; ++id) {
        if (const Codec* codec = find_codec(static_cast<CodecId>(id))) {
            codecs.push_back(codec);
        }
    }
    return codecs;
}

INSTANTIATE_TEST_SUITE_P(
    EveryCodec,
    CodecConformance,
    testing::ValuesIn(every_codec()),
    [](const testing::TestParamInfo<const Codec*>& codec) {
        return std::string(codec.param->name());
    }
);

}  // namespace
}  // namespace compression
