#include "stacking/composition/stack_file.hpp"

#include <gtest/gtest.h>

namespace stacking::composition {
namespace {

StackFile two() {
    StackFile stack;
    stack.name = "two \"quoted\" authors";
    stack.members = {{"runs/austen", 1, {}}, {"runs/code", 0.25, LayerSpan{2, 11}}};
    stack.seams = {{"emma.txt", 4096, {1.0 / 3, 2}, 0.1}};
    return stack;
}

TEST(StackFile, ReadsBackWhatItWrote) {
    for (const StackMode mode : {StackMode::Ensemble, StackMode::Chain, StackMode::Bridge}) {
        StackFile stack = two();
        stack.mode = mode;
        stack.bridge = mode == StackMode::Bridge ? "two.bridge.safetensors" : "";
        stack.clusters = mode == StackMode::Ensemble ? "groups/clusters.json" : "";
        stack.experts = mode == StackMode::Ensemble ? 1 : 0;
        const auto read = parse_stack(to_toml(stack), "two.toml");
        ASSERT_TRUE(read.has_value()) << read.error().detail;
        EXPECT_EQ(*read, stack);
    }
}

TEST(StackFile, AMistakeIsOneLineWithItsPlace) {
    const auto expect_refused = [](const std::string& toml, const std::string& why) {
        const auto read = parse_stack(toml, "bad.toml");
        ASSERT_TRUE(read.has_error()) << toml;
        EXPECT_NE(read.error().detail.find("bad.toml"), std::string::npos) << read.error().detail;
        EXPECT_NE(read.error().detail.find(why), std::string::npos) << read.error().detail;
        EXPECT_EQ(read.error().detail.find('\n'), std::string::npos) << read.error().detail;
    };
    const std::string member = "[[member]]\nmodel = \"a\"\n";
    const std::string seam = "[[seam]]\ntext = \"t\"\ntokens = 3\nmembers = [1.0]\nstack = 1.0\n";
    expect_refused("", "needs a member");
    expect_refused("name = \"x", "bad.toml:1");
    expect_refused("colour = 3\n" + member, "bad.toml:1: unknown key colour");
    expect_refused("mode = \"pile\"\n" + member, "bad.toml:1: mode is");
    expect_refused("mode = \"bridge\"\n" + member, "it needs two");
    expect_refused("mode = \"bridge\"\n" + member + member + member, "it needs two");
    expect_refused("bridge = \"b\"\n" + member, "only mode bridge");
    expect_refused("mode = \"chain\"\nclusters = \"c\"\n" + member, "only mode ensemble");
    expect_refused("experts = 2\n" + member, "experts needs clusters");
    expect_refused("clusters = \"c\"\nexperts = 17\n" + member, "bad.toml:2: experts wants");
    expect_refused("member = 3", "tables");
    expect_refused("[[member]]\nprior = 1.0", "needs a model");
    expect_refused(member + "prior = 0.0", "bad.toml:3");
    expect_refused(member + "prior = nan", "bad.toml:3");
    expect_refused(member + "weight = 1", "unknown key weight");
    for (const char* layers : {"3", "\"\"", "\"3\"", "\"3-\"", "\"5-3\"", "\"-1-3\"", "\"1-2x\""}) {
        expect_refused(member + "layers = " + layers, "bad.toml:3: layers wants a range");
    }
    expect_refused(member + seam + seam.substr(0, 9) + "text = \"u\"\n", "number of its tokens");
    expect_refused(member + member + seam, "measured with other members");
    expect_refused(member + seam + "stack = -1.0\n", "bad.toml");
    std::string many;
    for (int i = 0; i < 17; ++i) {
        many += member;
    }
    expect_refused(many, "at most 16");
    EXPECT_TRUE(parse_stack(member + seam, "good.toml").has_value());
}

TEST(StackFile, NamesTheLayersOfAMember) {
    StackFile stack = two();
    EXPECT_EQ(member_text(stack.members[0]), "runs/austen");
    EXPECT_EQ(member_text(stack.members[1]), "runs/code@2-11");
    EXPECT_NE(to_toml(stack).find("\nlayers = \"2-11\"\n"), std::string::npos);
    EXPECT_EQ(alone_text(stack, 1), "runs/code@2-11");
    stack.mode = StackMode::Chain;
    EXPECT_EQ(alone_text(stack, 1), "runs/code") << "the whole model is what a user has instead";
}

TEST(Gate, ComparesTheStackWithItsBestMemberOverAllTexts) {
    StackFile stack = two();
    stack.seams.clear();
    EXPECT_FALSE(judge(stack).has_value());
    stack.seams = {{"emma.txt", 100, {1, 3}, 1.1}, {"main.cpp", 100, {3, 1}, 1.1}};
    const auto good = judge(stack);
    ASSERT_TRUE(good.has_value());
    EXPECT_TRUE(good->passes());
    EXPECT_NEAR(good->stack, 1.1, 1e-12);
    EXPECT_NEAR(good->best_member, 2, 1e-12);
    stack.seams[1] = {"main.cpp", 300, {3, 1}, 4};
    const auto bad = judge(stack);
    EXPECT_FALSE(bad->passes());
    EXPECT_EQ(bad->best, 1U);
    EXPECT_NEAR(bad->best_member, 1.5, 1e-12);
    EXPECT_NEAR(bad->stack, (110.0 + 1200) / 400, 1e-12);
}

}  // namespace
}  // namespace stacking::composition
