#include "swarm/run/codec_choice.hpp"

#include "compression/codec.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace swarm::run {
namespace {

constexpr std::uint64_t kElements = 65'536;  // the demo model: 262,144 bytes of fp32
constexpr CodecId kChoices[] = {CodecId::None, CodecId::Int8, CodecId::Int4};

CodecChoiceInput two_stages(double compute_s, double line_bytes_per_s) {
    return {
        {kElements, kElements},
        8,
        4,
        {{1, compute_s, line_bytes_per_s, 0}, {1, compute_s, 0, line_bytes_per_s}}};
}

LegCodecs both(CodecId id) {
    return {id, id};
}

TEST(CodecChoice, AFastLineGetsCodecNone) {
    EXPECT_EQ(choose_codecs(two_stages(0.02, 1e9), both(CodecId::Int8)), both(CodecId::None));
}

TEST(CodecChoice, ASlowLineGetsTheSmallestCodec) {
    EXPECT_EQ(choose_codecs(two_stages(0.001, 1e5), both(CodecId::Int8)), both(CodecId::Int4));
}

TEST(CodecChoice, GivesEachBoundaryWhatItsLineNeeds) {
    CodecChoiceInput input = two_stages(0.02, 1e9);
    input.stages.push_back({1, 0.02, 0, 2e5});
    input.stages[1].to_next_bytes_per_s = 2e5;  // the line between the last two stages
    const LegCodecs chosen = choose_codecs(input, LegCodecs(4, CodecId::Int8));
    EXPECT_EQ(chosen[0], CodecId::None);
    EXPECT_EQ(chosen[1], CodecId::None);
    EXPECT_EQ(chosen[2], CodecId::Int4);
    EXPECT_EQ(chosen[3], CodecId::Int4);
}

TEST(CodecChoice, GivesAWiderBoundaryTheSmallerCodec) {
    CodecChoiceInput input = two_stages(0.02, 1e9);
    input.stages.push_back({1, 0.02, 0, 1e9});
    input.stages[1].to_next_bytes_per_s = 1e9;
    input.elements = {kElements, 400 * kElements};
    const LegCodecs chosen = choose_codecs(input, LegCodecs(4, CodecId::None));
    EXPECT_EQ(chosen[0], CodecId::None);
    EXPECT_NE(chosen[2], CodecId::None);
    EXPECT_NEAR(passing_s(input, 2, CodecId::None), 400 * passing_s(input, 0, CodecId::None), 1e-3);
}

TEST(CodecChoice, GivesEachWayWhatItsLineNeeds) {
    CodecChoiceInput input = two_stages(0.02, 1e9);
    input.stages[1].to_previous_bytes_per_s = 1e5;  // a home sends slower than it receives
    const LegCodecs chosen = choose_codecs(input, both(CodecId::Int8));
    EXPECT_EQ(chosen, (LegCodecs{CodecId::None, CodecId::Int4}));
}

/// Compares with all possible choices.
TEST(CodecChoice, IsHardlySlowerThanTheFastestAndAsLittleLossyAsPossible) {
    for (const double compute_s : {0.001, 0.01, 0.05, 0.3}) {
        for (const double rate : {1e5, 3e5, 1e6, 1.25e6, 4e6, 2.5e7, 1e8}) {
            const CodecChoiceInput input = two_stages(compute_s, rate);
            const LegCodecs chosen = choose_codecs(input, both(CodecId::None));
            double fastest_s = 1e9;
            for (const CodecId forward : kChoices) {
                for (const CodecId backward : kChoices) {
                    fastest_s = std::min(fastest_s, predicted_step_s(input, {forward, backward}));
                }
            }
            EXPECT_LE(predicted_step_s(input, chosen), 1.055 * fastest_s)
                << compute_s << " s at " << rate;
        }
    }
}

TEST(CodecChoice, KeepsTheCodecOfAnUnmeasuredLeg) {
    const LegCodecs current{CodecId::Int8, CodecId::Fp16};
    EXPECT_EQ(choose_codecs(two_stages(0, 1e5), current), current) << "no device";
    EXPECT_EQ(choose_codecs(two_stages(0.02, 0), current), current) << "no line";
    CodecChoiceInput one_way = two_stages(0.001, 1e5);
    one_way.stages[1].to_previous_bytes_per_s = 0;
    EXPECT_EQ(choose_codecs(one_way, current), (LegCodecs{CodecId::Int4, CodecId::Fp16}));
}

/// A measurement that wavers by a tenth does not change the choice.
TEST(CodecChoice, StaysWithItsChoiceWhenTheLineWavers) {
    for (const double rate : {3e5, 1e6, 4e6, 2.5e7}) {
        const LegCodecs chosen = choose_codecs(two_stages(0.02, rate), both(CodecId::Int8));
        const LegCodecs again = choose_codecs(two_stages(0.02, rate), chosen);
        EXPECT_EQ(again, chosen) << rate;
        EXPECT_EQ(choose_codecs(two_stages(0.02, 0.97 * rate), chosen), chosen) << rate;
    }
}

TEST(CodecChoice, PredictsTheTimeOfPassingOnToo) {
    CodecChoiceInput input = two_stages(0.1, 262'144 / 0.5);
    input.in_flight = 8;
    EXPECT_NEAR(predicted_step_s(input, both(CodecId::None)), 1.2 + 7 * 0.5, 1e-9);
}

}  // namespace
}  // namespace swarm::run
