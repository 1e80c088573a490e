#include "swarm/base/result.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <utility>

namespace swarm {

namespace {

Result<int> half(int value) {
    if (value % 2 != 0) {
        return Error{ErrorCode::Usage, Reaction::Reject, "odd; give an even number"};
    }
    return value / 2;
}

}  // namespace

TEST(Result, HoldsAValueOrAnError) {
    ASSERT_TRUE(half(4));
    EXPECT_EQ(*half(4), 2);
    const Result<int> odd = half(3);
    ASSERT_FALSE(odd);
    EXPECT_EQ(odd.error().code, ErrorCode::Usage);
    EXPECT_EQ(odd.error().reaction, Reaction::Reject);
    EXPECT_EQ(odd.error().detail, "odd; give an even number");
}

TEST(Result, HoldsNoErrorByDefault) {
    const Result<> good;
    EXPECT_TRUE(good);
}

TEST(Result, MovesAValueThatCannotBeCopied) {
    Result<std::unique_ptr<int>> result = std::make_unique<int>(5);
    const std::unique_ptr<int> taken = std::move(*result);
    EXPECT_EQ(*taken, 5);
}

}  // namespace swarm
