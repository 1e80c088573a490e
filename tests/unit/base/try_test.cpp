#include "swarm/base/try.hpp"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace swarm {

namespace {

Result<int> half(int value) {
    if (value % 2 != 0) {
        return Error{ErrorCode::Usage, Reaction::Reject, "odd"};
    }
    return value / 2;
}

Result<> be_even(int value) {
    SWARM_TRY(half(value));
    return {};
}

Result<std::string> quarter(int value) {
    SWARM_TRY(const int twice, half(value));
    SWARM_TRY(const auto once, half(twice));
    return std::to_string(once);
}

}  // namespace

TEST(Try, ReturnsTheErrorOfAResultWithoutAValue) {
    const auto tried = [](int value) -> Result<int> {
        SWARM_TRY(be_even(value));
        return value;
    };
    EXPECT_EQ(*tried(4), 4);
    ASSERT_FALSE(tried(3));
    EXPECT_EQ(tried(3).error().code, ErrorCode::Usage);
    EXPECT_EQ(tried(3).error().reaction, Reaction::Reject);
    EXPECT_EQ(tried(3).error().detail, "odd");
}

TEST(Try, DeclaresAVariableWithTheValue) {
    EXPECT_EQ(*quarter(8), "2");
    EXPECT_FALSE(quarter(7));
    EXPECT_FALSE(quarter(6));
}

TEST(Try, AssignsTheValueToAVariableThatExists) {
    int halved = 0;
    const auto tried = [&halved](int value) -> Result<> {
        SWARM_TRY(halved, half(value));
        return {};
    };
    EXPECT_TRUE(tried(10));
    EXPECT_EQ(halved, 5);
    EXPECT_FALSE(tried(9));
    EXPECT_EQ(halved, 5);
}

TEST(Try, ReturnsTheErrorFromAFunctionOfAnOptionalError) {
    const auto fault_of = [](int value) -> std::optional<Error> {
        SWARM_TRY(half(value));
        SWARM_TRY(const int again, half(value));
        static_cast<void>(again);
        return std::nullopt;
    };
    EXPECT_FALSE(fault_of(2));
    ASSERT_TRUE(fault_of(1));
    EXPECT_EQ(fault_of(1)->detail, "odd");
}

TEST(Try, MovesAValueThatCannotBeCopied) {
    const auto made = [](int value) -> Result<std::unique_ptr<int>> {
        return std::make_unique<int>(value);
    };
    const auto unpacked = [&made](int value) -> Result<int> {
        SWARM_TRY(const auto pointer, made(value));
        return *pointer;
    };
    EXPECT_EQ(*unpacked(5), 5);
}

TEST(Try, EvaluatesItsExpressionOnce) {
    int calls = 0;
    const auto counted = [&calls]() -> Result<int> {
        ++calls;
        return calls;
    };
    const auto tried = [&counted]() -> Result<int> {
        SWARM_TRY(counted());
        SWARM_TRY(const int second, counted());
        return second;
    };
    EXPECT_EQ(*tried(), 2);
    EXPECT_EQ(calls, 2);
}

TEST(Try, LeavesANamedResultUnchanged) {
    const auto tried = [](const Result<std::string>& text) -> Result<std::size_t> {
        SWARM_TRY(text);
        SWARM_TRY(const std::string copy, text);
        return copy.size() + text->size();
    };
    EXPECT_EQ(*tried(std::string("four")), 8U);
}

TEST(Try, TakesAnExpressionWithCommas) {
    const auto tried = [](int value) -> Result<int> {
        SWARM_TRY(const auto pairs, Result<std::map<int, int>>(std::map<int, int>{{value, 1}}));
        return pairs.at(value);
    };
    EXPECT_EQ(*tried(3), 1);
}

TEST(Try, WorksInsideATriedExpression) {
    const auto tried = [](int value) -> Result<int> {
        SWARM_TRY(const int outer, [value]() -> Result<int> {
            SWARM_TRY(const int inner, half(value));
            return half(inner);
        }());
        return outer;
    };
    EXPECT_EQ(*tried(4), 1);
    EXPECT_FALSE(tried(3));
}

TEST(Try, IsOneStatementUnderAnIfWithItsElse) {
    const auto tried = [](bool is_checked, int value) -> Result<int> {
        if (is_checked)
            SWARM_TRY(be_even(value));
        else
            return 0;
        return 1;
    };
    EXPECT_EQ(*tried(false, 1), 0);
    EXPECT_EQ(*tried(true, 2), 1);
    EXPECT_FALSE(tried(true, 1));
}

}  // namespace swarm
