#include "stages/worker/tensor_checks.hpp"

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

}  // namespace
}  // namespace stages
