#include "stages/worker/tensor_checks.hpp"

#include "swarm/base/token_flags.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace stages {
namespace {

TEST(CheckFinite, NamesTheFirstElementThatIsNotFinite) {
    std::vector<float> values(20, std::numeric_limits<float>::max());
    EXPECT_TRUE(check_finite(values));
    values[13] = -std::numeric_limits<float>::infinity();
    values[17] = std::numeric_limits<float>::quiet_NaN();
    const auto checked = check_finite(values);
    ASSERT_TRUE(checked.has_error());
    EXPECT_EQ(checked.error().code, swarm::ErrorCode::NotFinite);
    EXPECT_NE(checked.error().detail.find("element 13"), std::string::npos);
}

TEST(AllBelow, HoldsForMagnitudesStrictlyBelowTheLimit) {
    EXPECT_TRUE(all_below(std::vector<float>{1.5F, -1.9F}, 2.0F));
    EXPECT_FALSE(all_below(std::vector<float>{1.5F, -2.0F}, 2.0F));
}

TEST(CheckTokenIds, RefusesAnIdOutsideTheVocabulary) {
    EXPECT_TRUE(check_token_ids(std::vector<std::uint32_t>{0, 255}, 256));
    const auto checked = check_token_ids(std::vector<std::uint32_t>{0, 256}, 256);
    ASSERT_TRUE(checked.has_error());
    EXPECT_EQ(checked.error().code, swarm::ErrorCode::Mismatch);
}

TEST(CheckTrainingTokens, TakesTargetsThatCountForNoLoss) {
    using swarm::kNoLossFlag;
    const auto check = [](std::vector<std::uint32_t> tokens) {
        return check_training_tokens(tokens, 3, 256).has_value();
    };
    EXPECT_TRUE(check({0, 255 | kNoLossFlag, 7, 1, 2, 0 | kNoLossFlag}));
    EXPECT_FALSE(check({0 | kNoLossFlag, 1, 2, 3, 4, 5})) << "it is no target";
    EXPECT_FALSE(check({0, 1, 2, 3 | kNoLossFlag, 4, 5}));
    EXPECT_FALSE(check({0, 256 | kNoLossFlag, 2, 3, 4, 5}));
    EXPECT_FALSE(check({0, 1, 2, 3, 4, 256}));
    EXPECT_FALSE(check_token_ids(std::vector<std::uint32_t>{1 | kNoLossFlag}, 256));
}

}  // namespace
}  // namespace stages
