#include "swarm/run/choices.hpp"

#include "swarm/run/config.hpp"

#include <gtest/gtest.h>

namespace swarm::run {
namespace {

template <Choice Type>
void expect_reads_back(std::initializer_list<const char*> names) {
    for (const char* const name : names) {
        const std::optional<Type> choice = find_choice<Type>(name);
        ASSERT_TRUE(choice.has_value()) << name;
        EXPECT_EQ(to_text(*choice), name);
    }
    EXPECT_FALSE(find_choice<Type>(""));
    EXPECT_FALSE(find_choice<Type>("nonsense"));
}

TEST(Choices, ReadBackFromTheirNames) {
    expect_reads_back<ModelKind>({"llama", "oracle"});
    expect_reads_back<SyncMode>({"exact", "sparse"});
    expect_reads_back<SplitMode>({"fixed", "measured"});
    expect_reads_back<router::PolicyName>({"expected_finish", "iwrr", "shortest_queue", "uniform"});
    expect_reads_back<router::RebalancerName>({"none", "capacity", "swarm-alg2"});
    expect_reads_back<CodecSetting>({"auto", "none", "int8", "int8/int8", "int4/int8"});
}

TEST(Choices, DefaultsAreRegistered) {
    const RunConfig run;
    EXPECT_EQ(router::PolicyName::find(run.policy.text()), run.policy);
    EXPECT_EQ(router::RebalancerName::find(run.rebalancer.text()), run.rebalancer);
    EXPECT_EQ(CodecSetting::find(run.codec.text()), run.codec);
    EXPECT_NE(router::make_policy(run.policy, 1), nullptr);
    EXPECT_NE(router::make_rebalancer(run.rebalancer), nullptr);
    EXPECT_TRUE(run.rebalancer.is_none());
}

TEST(Choices, AnUnknownNameIsAnErrorWithTheKeyAndTheNames) {
    const auto mode = parse_choice<SyncMode>("run.mode", "fast");
    ASSERT_TRUE(mode.has_error());
    EXPECT_EQ(mode.error().code, ErrorCode::Usage);
    EXPECT_EQ(mode.error().reaction, Reaction::Reject);
    EXPECT_EQ(mode.error().detail, "run.mode must be \"exact\" or \"sparse\"");
    EXPECT_EQ(choice_names<router::RebalancerName>(), "\"none\", \"capacity\" or \"swarm-alg2\"");
    EXPECT_EQ(*parse_choice<SyncMode>("run.mode", "sparse"), SyncMode::Sparse);
}

TEST(CodecSetting, IsOneCodecOrOnePerWayOrAutomatic) {
    EXPECT_EQ(CodecSetting().pair(), (CodecPair{CodecId::None, CodecId::None}));
    EXPECT_EQ(CodecSetting::find("fp16")->pair(), (CodecPair{CodecId::Fp16, CodecId::Fp16}));
    EXPECT_EQ(CodecSetting::find("int4/int8")->pair(), (CodecPair{CodecId::Int4, CodecId::Int8}));
    EXPECT_EQ(CodecSetting::find("auto"), CodecSetting::automatic());
    EXPECT_TRUE(CodecSetting::automatic().is_automatic());
    EXPECT_FALSE(CodecSetting().is_automatic());
}

TEST(CodecSetting, RefusesTextThatNamesNoCodecForBothWays) {
    for (const char* const text :
         {"", "zip", "int8/", "/int8", "int8/zip", "a/b/c", "sparse", "int8/sparse", "auto/int8"}) {
        EXPECT_FALSE(CodecSetting::find(text)) << text;
    }
    EXPECT_FALSE(parse_codec_pair("auto"));
}

}  // namespace
}  // namespace swarm::run
