#include "swarm/run/leg_codecs.hpp"

#include <gtest/gtest.h>

namespace swarm::run {
namespace {

RunConfig run_of(std::uint32_t stages, std::string_view codec) {
    RunConfig config;
    config.stages = stages;
    config.codec = CodecSetting::find(codec).value();
    return config;
}

TEST(LegCodecs, AreThoseOfTheRunFileAtEachBoundary) {
    EXPECT_EQ(
        first_codecs(run_of(3, "int8")),
        (LegCodecs{CodecId::Int8, CodecId::Int8, CodecId::Int8, CodecId::Int8})
    );
    EXPECT_EQ(
        first_codecs(run_of(3, "int4/none")),
        (LegCodecs{CodecId::Int4, CodecId::None, CodecId::Int4, CodecId::None})
    );
    EXPECT_TRUE(first_codecs(run_of(1, "int8")).empty());
}

TEST(LegCodecs, BeginWithInt8WhereTheyAreChosen) {
    EXPECT_TRUE(chooses_codecs(run_of(2, "auto")));
    EXPECT_EQ(first_codecs(run_of(2, "auto")), (LegCodecs{CodecId::Int8, CodecId::Int8}));
}

TEST(LegCodecs, HaveAForwardAndABackwardPerBoundary) {
    EXPECT_EQ(leg_index(0, protocol::Leg::Forward), 0U);
    EXPECT_EQ(leg_index(0, protocol::Leg::Backward), 1U);
    EXPECT_EQ(leg_index(2, protocol::Leg::Forward), 4U);
}

TEST(LegCodecs, AreReadBackFromTheirText) {
    const LegCodecs codecs{CodecId::Int4, CodecId::Int8, CodecId::None, CodecId::HadamardInt4};
    EXPECT_EQ(to_text(codecs), "int4/int8,none/hadamard-int4");
    EXPECT_EQ(parse_leg_codecs(to_text(codecs), 3), codecs);
    EXPECT_EQ(parse_leg_codecs("", 1), LegCodecs());
}

TEST(LegCodecs, RefuseOtherText) {
    for (const char* const text :
         {"",
          "int8",
          "int8/",
          "/int8",
          "int8/int8,",
          ",int8/int8",
          "int8/zip",
          "int8/int8/int8",
          "auto/int8",
          "int8/int8,none/none"}) {
        EXPECT_FALSE(parse_leg_codecs(text, 2)) << text;
    }
}

}  // namespace
}  // namespace swarm::run
