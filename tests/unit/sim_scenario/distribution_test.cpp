#include "sim/scenario/distribution.hpp"

#include "swarm/base/trace_hash.hpp"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <set>

namespace sim {
namespace {

using namespace std::chrono_literals;

constexpr int kDraws = 200'000;

swarm::Rng stream() {
    return {7, 11};
}

double mean_of(const Draw& draw) {
    swarm::Rng rng = stream();
    double sum = 0;
    for (int i = 0; i < kDraws; ++i) {
        sum += sample(rng, draw);
    }
    return sum / kDraws;
}

TEST(StandardExponential, IsMinusTheLogarithmOfTheDraw) {
    swarm::Rng rng = stream();
    swarm::Rng same = stream();
    for (int i = 0; i < 10'000; ++i) {
        const double u = static_cast<double>(same.next()) * 0x1p-64;
        const double drawn = static_cast<double>(standard_exponential(rng)) * 0x1p-40;
        ASSERT_NEAR(drawn, -std::log(u), 2e-12);
    }
}

TEST(StandardExponential, HasTheMeanAndTheTailOfTheDistribution) {
    swarm::Rng rng = stream();
    double sum = 0;
    int above_two = 0;
    for (int i = 0; i < kDraws; ++i) {
        const double drawn = static_cast<double>(standard_exponential(rng)) * 0x1p-40;
        sum += drawn;
        above_two += drawn > 2 ? 1 : 0;
    }
    EXPECT_NEAR(sum / kDraws, 1.0, 0.01);
    EXPECT_NEAR(static_cast<double>(above_two) / kDraws, std::exp(-2), 0.005);
}

TEST(Exponential, HasGoldenValues) {
    swarm::Rng rng = stream();
    std::array<Duration::rep, 5> drawn{};
    for (auto& value : drawn) {
        value = exponential(rng, 1h).count();
    }
    EXPECT_EQ(
        drawn,
        (std::array<Duration::rep, 5>{
            1541851932429, 8684197001078, 2328438338033, 233410155872, 17325196876544})
    );
}

TEST(Exponential, IsAtLeastOneNanosecondAndAtMostTheLongestDuration) {
    swarm::Rng rng = stream();
    for (int i = 0; i < 1'000; ++i) {
        EXPECT_EQ(exponential(rng, 0ns), 1ns);
        EXPECT_LE(exponential(rng, kDurationMax), kDurationMax);
    }
}

TEST(Sample, HasGoldenBitsOfEveryKind) {
    swarm::Rng rng = stream();
    swarm::TraceHash hash;
    for (int i = 0; i < 1'000; ++i) {
        for (const Draw& draw :
             {Draw{Draw::Kind::Constant, {0.1}},
              Draw{Draw::Kind::Uniform, {-3.7, 12.9e6}},
              Draw{Draw::Kind::Exponential, {12.5e6}},
              Draw{Draw::Kind::Choice, {0.1, 0.2, 0.3}}}) {
            hash.add(std::bit_cast<std::uint64_t>(sample(rng, draw)));
        }
    }
    EXPECT_EQ(hash.value(), 10150886866757016664U);
}

TEST(Sample, AConstantIsItselfToTheLastBit) {
    swarm::Rng rng = stream();
    EXPECT_EQ(sample(rng, Draw{Draw::Kind::Constant, {0.1}}), 0.1);
}

TEST(Sample, UniformStaysInItsRangeWithItsMean) {
    const Draw draw{Draw::Kind::Uniform, {-2, 6}};
    swarm::Rng rng = stream();
    for (int i = 0; i < 10'000; ++i) {
        const double drawn = sample(rng, draw);
        ASSERT_TRUE(-2 <= drawn && drawn < 6) << drawn;
    }
    EXPECT_NEAR(mean_of(draw), 2.0, 0.03);
}

TEST(Sample, ExponentialHasItsMean) {
    EXPECT_NEAR(mean_of({Draw::Kind::Exponential, {60}}), 60.0, 0.6);
    EXPECT_NEAR(mean_of({Draw::Kind::Exponential, {kDrawMax}}), kDrawMax, 0.01 * kDrawMax);
}

TEST(Sample, ChoiceTakesEachOfItsValuesAlikeOften) {
    EXPECT_NEAR(mean_of({Draw::Kind::Choice, {1, 2, 6}}), 3.0, 0.03);
}

TEST(Sample, EveryKindTakesOneNumberFromTheStream) {
    swarm::Rng expected = stream();
    expected.next();
    const std::uint64_t second = expected.next();
    for (const Draw& draw :
         {Draw{Draw::Kind::Constant, {1}},
          Draw{Draw::Kind::Uniform, {1, 2}},
          Draw{Draw::Kind::Exponential, {1}},
          Draw{Draw::Kind::Choice, {1, 2}}}) {
        swarm::Rng rng = stream();
        sample(rng, draw);
        EXPECT_EQ(rng.next(), second) << static_cast<int>(draw.kind);
    }
}

TEST(ToDuration, CutsToWholeNanosecondsWithinBounds) {
    EXPECT_EQ(to_duration(1.5), 1500ms);
    EXPECT_EQ(to_duration(-1), 0ns);
    EXPECT_EQ(to_duration(1e300), kDurationMax);
}

TEST(PlaceOf, OnePlaceMoreMovesFewKeysAndAllToTheNewPlace) {
    swarm::Rng rng = stream();
    int moved = 0;
    std::set<std::uint32_t> places;
    for (int i = 0; i < 10'000; ++i) {
        const std::uint64_t key = rng.next();
        const std::uint32_t before = place_of(key, 9);
        const std::uint32_t after = place_of(key, 10);
        places.insert(after);
        ASSERT_TRUE(after == before || after == 9) << before << " to " << after;
        moved += after == before ? 0 : 1;
    }
    EXPECT_EQ(places.size(), 10U);
    EXPECT_NEAR(moved, 1'000, 120);
}

}  // namespace
}  // namespace sim
