#include "stacking/tokenizers/merges/token_table.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace stacking::tokenizers {
namespace {

std::vector<std::string> numbers(std::size_t count) {
    std::vector<std::string> texts;
    for (std::size_t i = 0; i < count; ++i) {
        texts.push_back("token " + std::to_string(i * 7));
    }
    return texts;
}

TEST(TokenTable, FindsWhatWasAddedAndNothingElse) {
    const auto texts = numbers(10'000);
    TokenTable table(texts.size());
    for (std::uint32_t id = 0; id < texts.size(); ++id) {
        EXPECT_TRUE(table.add(texts[id], id));
    }
    for (std::uint32_t id = 0; id < texts.size(); ++id) {
        ASSERT_EQ(table.find(texts[id]), id);
    }
    EXPECT_FALSE(table.find("token 1"));
    EXPECT_FALSE(table.find("token"));
    EXPECT_FALSE(table.find(""));
    EXPECT_FALSE(table.find(std::string_view("token 7\0", 8))) << "zeros at the end count";
}

TEST(TokenTable, ATextThatIsThereKeepsItsId) {
    const std::string first = "same";
    const std::string second = "same";
    TokenTable table(2);
    EXPECT_TRUE(table.add(first, 3));
    EXPECT_FALSE(table.add(second, 4));
    EXPECT_EQ(table.find("same"), 3U);
}

/// A table for one token has two places, so nearly all of these collide with all others.
TEST(TokenTable, TokensThatFindNoPlaceAreFoundAllTheSame) {
    const auto texts = numbers(1'000);
    TokenTable table(1);
    for (std::uint32_t id = 0; id < texts.size(); ++id) {
        EXPECT_TRUE(table.add(texts[id], id));
        EXPECT_FALSE(table.add(texts[id], 0));
    }
    for (std::uint32_t id = 0; id < texts.size(); ++id) {
        ASSERT_EQ(table.find(texts[id]), id);
    }
    EXPECT_FALSE(table.find("token 1"));
}

TEST(TokenTable, AnEmptyTableHasNothing) {
    EXPECT_FALSE(TokenTable().find("a"));
}

}  // namespace
}  // namespace stacking::tokenizers
