#include "swarm/base/edit_distance.hpp"

#include <gtest/gtest.h>

namespace swarm {
namespace {

TEST(EditDistance, CountsLettersThatAreAddedLeftOutOrReplaced) {
    EXPECT_EQ(edit_distance("", ""), 0U);
    EXPECT_EQ(edit_distance("", "run"), 3U);
    EXPECT_EQ(edit_distance("run", ""), 3U);
    EXPECT_EQ(edit_distance("run.steps", "run.steps"), 0U);
    EXPECT_EQ(edit_distance("run.step", "run.steps"), 1U);
    EXPECT_EQ(edit_distance("kitten", "sitting"), 3U);
    EXPECT_EQ(edit_distance("sitting", "kitten"), 3U);
}

}  // namespace
}  // namespace swarm
