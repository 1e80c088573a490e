// The duties of every registered codec with every tensor, on every path. codec_cases.hpp has the
// figures that each codec documents.
#include "codec_cases.hpp"
#include "swarm/base/rng.hpp"

#include <algorithm>
#include <bit>
#include <cfloat>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>

namespace compression::test {
namespace {

using swarm::Rng;

class CodecConformance : public CodecSuite {
 protected:
    void expect_within_bound(const Values& values, const std::string& what) const {
        for (const TensorRole role : roles()) {
            const Values back = decode(encode(values, role), values.size());
            const std::vector<double> bounds = documented_errors(codec().id(), values, role);
            for (std::size_t i = 0; i < values.size(); ++i) {
                const double error = std::fabs(static_cast<double>(values[i]) - back[i]);
                ASSERT_LE(error, bounds[i]) << what << ", " << to_text(role) << ", element " << i
                                            << " of " << values.size() << ": " << values[i];
            }
        }
    }

    [[nodiscard]] bool takes(double magnitude) const {
        return magnitude <= largest_taken(codec().id());
    }
};

TEST_P(CodecConformance, SizeIsTheDocumentedFormula) {
    for (std::uint64_t n = 0; n < 1000; ++n) {
        ASSERT_EQ(codec().encoded_bytes(n), documented_size(codec().id(), n)) << n;
    }
    for (const std::uint64_t n : {1ULL << 26, (1ULL << 40) + 1, 1ULL << 60}) {
        EXPECT_EQ(codec().encoded_bytes(n), documented_size(codec().id(), n)) << n;
    }
}

TEST_P(CodecConformance, ErrorStaysWithinTheBoundForEverySizeAndMagnitude) {
    for (const std::size_t elements : adversarial_sizes()) {
        for (const double magnitude : {1.0, 1e-3, 1e4, 1e-30, 1e-38, 1e-42, 1e30, 3.4e38}) {
            if (takes(magnitude)) {
                expect_within_bound(
                    noise(elements, magnitude, 11), "magnitude " + std::to_string(magnitude)
                );
            }
        }
    }
}

TEST_P(CodecConformance, ErrorStaysWithinTheBoundForConstants) {
    for (const float value :
         {0.0F,
          -0.0F,
          1.0F,
          -1.0F,
          FLT_MAX,
          -FLT_MAX,
          65504.0F,
          65520.0F,
          0x1p+112F,
          FLT_MIN,
          FLT_MIN / 2,
          0x1p-149F,
          1e-40F,
          0x1p-14F,
          0x1p-25F}) {
        for (const std::size_t elements : {1, 2, 63, 64, 65, 129, 1025}) {
            if (takes(std::fabs(value))) {
                expect_within_bound(Values(elements, value), "constant " + std::to_string(value));
            }
        }
    }
    const float largest = largest_taken(codec().id());
    expect_within_bound({largest, -largest, largest / 254, 1.0F, 0x1p-149F}, "mixed magnitudes");
}

TEST_P(CodecConformance, RandomBitPatternsStayWithinTheBound) {
    Rng rng(5, 6);
    const auto bits_max = std::bit_cast<std::uint32_t>(largest_taken(codec().id()));
    for (int round = 0; round < 300; ++round) {
        Values values(1 + rng.below(150));
        const std::uint64_t span = rng.chance(1, 2) ? bits_max : 1U << 24;
        const std::uint64_t lowest = rng.below(bits_max - span + 1);
        for (float& value : values) {
            const auto magnitude = static_cast<std::uint32_t>(lowest + rng.below(span));
            value = std::bit_cast<float>(magnitude | (rng.chance(1, 2) ? 0x80000000U : 0U));
        }
        expect_within_bound(values, "round " + std::to_string(round));
    }
}

TEST_P(CodecConformance, AddingIsDecodingAndThenASum) {
    for (const std::size_t elements : adversarial_sizes()) {
        const Bytes bytes = encode(noise(elements, 1, 15), main_role());
        Values sum = noise(elements, 3, 16);
        Values expected = sum;
        const Values decoded = decode(bytes, elements);
        for (std::size_t i = 0; i < elements; ++i) {
            expected[i] += decoded[i];
        }
        ASSERT_TRUE(codec().decode_add(bytes, sum).has_value());
        ASSERT_EQ(sum, expected) << elements << " elements";
    }
}

TEST_P(CodecConformance, ZerosAreExact) {
    const Values zeros(130, 0.0F);
    for (const TensorRole role : roles()) {
        EXPECT_EQ(decode(encode(zeros, role), zeros.size()), zeros);
    }
}

TEST_P(CodecConformance, DecodedValuesSurviveAnotherRoundUnchanged) {
    for (const TensorRole role : roles()) {
        for (const double magnitude : {1.0, 1e-38, 1e-44, 3.4e38}) {
            for (const std::size_t elements : adversarial_sizes()) {
                if (takes(magnitude) && repeats_itself(codec().id(), role, elements)) {
                    const Values values = noise(elements, magnitude, 12);
                    const Values once = decode(encode(values, role), elements);
                    ASSERT_EQ(decode(encode(once, role), elements), once)
                        << magnitude << ", " << elements;
                }
            }
        }
    }
}

TEST_P(CodecConformance, SameValuesRoleAndSeedGiveTheSameBytes) {
    const Values values = noise(777, 1, 13);
    for (const TensorRole role : roles()) {
        EXPECT_EQ(encode(values, role), encode(values, role)) << to_text(role);
    }
}

TEST_P(CodecConformance, TheSeedCountsForStochasticRoundingOnly) {
    const Values values = noise(777, 1, 13);
    for (const TensorRole role : roles()) {
        Bytes other(codec().encoded_bytes(values.size()));
        ASSERT_TRUE(codec().encode(values, role, kSeed + 1, other).has_value());
        EXPECT_EQ(other != encode(values, role), draws(codec().id(), role)) << to_text(role);
    }
}

/// Bound: 4 sigma of the 10^4 draws, plus the part of a step below the 19 bits of a draw.
TEST_P(CodecConformance, StochasticRoundingIsRightOnAverage) {
    constexpr int kDraws = 10'000;
    const Values values = noise(75, 1, 14);
    for (const TensorRole role : roles()) {
        if (!draws(codec().id(), role)) {
            continue;
        }
        std::vector<double> sum(values.size());
        std::vector<double> sum_of_squares(values.size());
        Bytes bytes(codec().encoded_bytes(values.size()));
        Values back(values.size());
        for (std::uint64_t seed = 0; seed < kDraws; ++seed) {
            ASSERT_TRUE(codec().encode(values, role, seed, bytes).has_value());
            ASSERT_TRUE(codec().decode(bytes, back).has_value());
            for (std::size_t i = 0; i < values.size(); ++i) {
                const double error = double{back[i]} - values[i];
                sum[i] += error;
                sum_of_squares[i] += error * error;
            }
        }
        for (std::size_t i = 0; i < values.size(); ++i) {
            const double sigma = std::sqrt(sum_of_squares[i] / kDraws / kDraws);
            EXPECT_LE(std::fabs(sum[i] / kDraws), 4 * sigma + 0x1p-19)
                << to_text(role) << ", element " << i << ": " << values[i];
        }
    }
}

INSTANTIATE_TEST_SUITE_P(
    EveryCodecAndPath, CodecConformance, testing::ValuesIn(every_case()), name_of
);

class VectorPath : public CodecSuite {
 protected:
    [[nodiscard]] const Codec& scalar() const {
        const auto all = codecs_on(simd::Path::Scalar);
        return **std::ranges::find(all, codec().id(), [](const auto& one) { return one->id(); });
    }
};

/// Any bits from some range: denormals, the largest numbers; sometimes one NaN.
Values any_values(Rng& rng) {
    const std::uint64_t span = std::uint64_t{1} << (24 + rng.below(8));
    const std::uint64_t lowest = rng.below(0x80000000U);
    Values values(rng.below(1300));
    for (float& value : values) {
        const std::uint64_t magnitude = (lowest + rng.below(span)) % 0x7f800000U;
        const std::uint32_t sign = rng.chance(1, 2) ? 0x80000000U : 0U;
        value = std::bit_cast<float>(static_cast<std::uint32_t>(magnitude) | sign);
    }
    if (!values.empty() && rng.chance(1, 20)) {
        values[rng.below(values.size())] = std::numeric_limits<float>::quiet_NaN();
    }
    return values;
}

TEST_P(VectorPath, WritesTheBytesOfTheScalarPath) {
    ASSERT_EQ(scalar().id(), codec().id());
    Rng rng(21, 22);
    int written = 0;
    for (int round = 0; round < 1500; ++round) {
        const Values values = any_values(rng);
        const TensorRole role = roles()[rng.below(roles().size())];
        const std::uint64_t seed = rng.next();
        Bytes expected(scalar().encoded_bytes(values.size()));
        Bytes actual(expected.size());
        const bool encoded = scalar().encode(values, role, seed, expected).has_value();
        ASSERT_EQ(codec().encode(values, role, seed, actual).has_value(), encoded) << round;
        if (encoded) {
            ASSERT_EQ(actual, expected) << "round " << round << ", " << values.size() << " values";
            ++written;
        }
    }
    EXPECT_GT(written, 100);
}

TEST_P(VectorPath, ReadsAndRefusesWhatTheScalarPathDoes) {
    Rng rng(23, 24);
    int refused = 0;
    for (int round = 0; round < 1500; ++round) {
        const Values values = noise(rng.below(1300), std::ldexp(1, 40 - round % 80), rng.next());
        Bytes bytes = encode(values, main_role());
        for (std::uint64_t flips = rng.below(3); flips > 0 && !bytes.empty(); --flips) {
            bytes[rng.below(bytes.size())] = static_cast<std::byte>(rng.below(256));
        }
        Values here(values.size());
        Values there(values.size());
        const bool decoded = scalar().decode(bytes, there).has_value();
        ASSERT_EQ(codec().decode(bytes, here).has_value(), decoded) << "round " << round;
        refused += decoded ? 0 : 1;
        if (decoded && !here.empty()) {
            const std::size_t size = sizeof(float) * here.size();
            ASSERT_EQ(std::memcmp(here.data(), there.data(), size), 0) << "round " << round;
        }
    }
    EXPECT_LT(refused, 1500);
}

std::vector<Case> vector_cases() {
    std::vector<Case> cases = every_case();
    std::erase_if(cases, [](const Case& one) { return one.path == simd::Path::Scalar; });
    return cases;
}

// A processor with neither AVX2 nor AVX-512 has nothing to compare; CodecPaths says so.
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(VectorPath);
INSTANTIATE_TEST_SUITE_P(EveryCodec, VectorPath, testing::ValuesIn(vector_cases()), name_of);

/// Says in the log which paths the suite could not judge here.
TEST(CodecPaths, AreNamedWhenThisProcessorLacksThem) {
    std::size_t judged = 0;
    for (const simd::Path path : swarm::kCpuPaths) {
        const bool here = simd::kernels_of(path) != nullptr;
        EXPECT_EQ(here, !codecs_on(path).empty()) << to_text(path);
        judged += here ? codecs_on(path).size() : 0;
        if (!here) {
            std::printf("not tested, this processor lacks it: %s\n", to_text(path).data());
        }
    }
    EXPECT_EQ(judged, every_case().size());
}

}  // namespace
}  // namespace compression::test
