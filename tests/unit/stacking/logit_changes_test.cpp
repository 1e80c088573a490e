#include "stacking/logit_changes.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace stacking {
namespace {

using swarm::protocol::Sampling;
using Logits = std::vector<float>;

const std::vector<std::uint32_t> kText{0, 1, 1, 2, 2, 2, 9};  // 9 is no token of the model

Logits changed(const Sampling& sampling) {
    Logits logits{2, -2, 4, 1};
    LogitChanges(sampling, kText).apply(logits);
    return logits;
}

TEST(LogitChanges, WithoutOptionsChangeNothing) {
    EXPECT_TRUE(LogitChanges(Sampling{}, kText).is_empty());
    EXPECT_EQ(changed({}), (Logits{2, -2, 4, 1}));
    Sampling one;
    one.repetition_penalty = 1;
    EXPECT_FALSE(one.reads_text());
}

TEST(LogitChanges, RepetitionMakesEachTokenOfTheTextLessLikely) {
    Sampling sampling;
    sampling.repetition_penalty = 2;
    EXPECT_EQ(changed(sampling), (Logits{1, -4, 2, 1}));
}

TEST(LogitChanges, FrequencyAndPresenceCountGeneratedTokens) {
    Sampling sampling;
    sampling.frequency_penalty = 0.5;
    sampling.generated_from = 2;  // 1, 2, 2, 2
    EXPECT_EQ(changed(sampling), (Logits{2, -2.5F, 2.5F, 1}));
    sampling.frequency_penalty = 0;
    sampling.presence_penalty = 0.5;
    EXPECT_EQ(changed(sampling), (Logits{2, -2.5F, 3.5F, 1}));
    sampling.generated_from = 100;
    EXPECT_EQ(changed(sampling), (Logits{2, -2, 4, 1}));
}

TEST(LogitChanges, BiasesComeFirst) {
    Sampling sampling;
    sampling.repetition_penalty = 2;
    sampling.biases = {{1, 4}, {3, -1}, {77, 5}};
    EXPECT_EQ(changed(sampling), (Logits{1, 1, 2, 0}));
}

}  // namespace
}  // namespace stacking
