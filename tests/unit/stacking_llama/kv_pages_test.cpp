#include "stacking/llama/kv_pages.hpp"

#include "stacking/kernels/kernels.hpp"

#include <gtest/gtest.h>

namespace stacking::llama {
namespace {

using kernels::kPagePositions;

constexpr KvShape kShape{.layers = 2, .kv_heads = 3, .head_width = 4};
constexpr CacheId kPagesOne{1};
constexpr CacheId kPagesTwo{2};

KvPages pages_of(std::size_t count) {
    return {kShape, 1000, count * kShape.page_floats() * sizeof(float)};
}

TEST(KvPages, CountsTheBytesOfAPosition) {
    EXPECT_EQ(kShape.bytes_per_position(), 2 * 3 * 4 * 2 * sizeof(float));
    EXPECT_EQ(kShape.page_floats() * sizeof(float), kPagePositions * kShape.bytes_per_position());
    EXPECT_EQ(kShape.offset(1, 2) + kShape.head_floats(), kShape.page_floats());
}

TEST(KvPages, ReservesWholePagesAndOnlyMore) {
    KvPages pages = pages_of(5);
    ASSERT_TRUE(pages.reserve(kPagesOne, 0).has_value());
    EXPECT_EQ(pages.pages_in_use(), 1U) << "a cache without a page would cost nothing";
    ASSERT_TRUE(pages.reserve(kPagesOne, kPagePositions).has_value());
    EXPECT_EQ(pages.pages_in_use(), 1U);
    ASSERT_TRUE(pages.reserve(kPagesOne, kPagePositions + 1).has_value());
    EXPECT_EQ(pages.pages_in_use(), 2U);
    ASSERT_TRUE(pages.reserve(kPagesOne, 1).has_value());
    EXPECT_EQ(pages.find(kPagesOne)->reserved_positions(), 2 * kPagePositions);
}

TEST(KvPages, AFailedReserveTakesNothing) {
    KvPages pages = pages_of(2);
    ASSERT_TRUE(pages.reserve(kPagesOne, 1).has_value());
    EXPECT_FALSE(pages.reserve(kPagesTwo, 2 * kPagePositions).has_value());
    EXPECT_EQ(pages.find(kPagesTwo), nullptr);
    EXPECT_FALSE(pages.reserve(kPagesOne, 3 * kPagePositions).has_value());
    EXPECT_EQ(pages.find(kPagesOne)->pages.size(), 1U);
    EXPECT_EQ(pages.pages_in_use(), 1U);
}

TEST(KvPages, DropGivesAllPagesBack) {
    KvPages pages = pages_of(3);
    ASSERT_TRUE(pages.reserve(kPagesOne, 3 * kPagePositions).has_value());
    pages.drop(kPagesOne);
    EXPECT_EQ(pages.pages_in_use(), 0U);
    EXPECT_EQ(pages.find(kPagesOne), nullptr);
    EXPECT_TRUE(pages.reserve(kPagesTwo, 3 * kPagePositions).has_value());
}

TEST(KvPages, TruncateForgetsAndNeverFills) {
    KvPages pages = pages_of(2);
    ASSERT_TRUE(pages.reserve(kPagesOne, 100).has_value());
    pages.find(kPagesOne)->filled = 80;
    pages.truncate(kPagesOne, 90);
    EXPECT_EQ(pages.find(kPagesOne)->filled, 80U);
    pages.truncate(kPagesOne, 3);
    EXPECT_EQ(pages.find(kPagesOne)->filled, 3U);
    EXPECT_EQ(pages.pages_in_use(), 2U) << "pages stay reserved";
}

TEST(KvPages, SharedPagesCountOnceAndStayWithTheLast) {
    KvPages pages = pages_of(4);
    ASSERT_TRUE(pages.reserve(kPagesOne, 3 * kPagePositions).has_value());
    pages.find(kPagesOne)->filled = 2 * kPagePositions + 5;
    ASSERT_TRUE(pages.share(kPagesOne, kPagesTwo, 2 * kPagePositions).has_value());
    EXPECT_EQ(pages.pages_in_use(), 3U);
    EXPECT_EQ(pages.find(kPagesTwo)->filled, 2 * kPagePositions);
    EXPECT_EQ(pages.find(kPagesTwo)->pages[1], pages.find(kPagesOne)->pages[1]);
    ASSERT_TRUE(pages.reserve(kPagesTwo, 3 * kPagePositions).has_value());
    EXPECT_EQ(pages.pages_in_use(), 4U);
    EXPECT_FALSE(pages.reserve(kPagesTwo, 4 * kPagePositions).has_value());
    pages.drop(kPagesOne);
    EXPECT_EQ(pages.pages_in_use(), 3U) << "two are shared with the second";
    pages.drop(kPagesTwo);
    EXPECT_EQ(pages.pages_in_use(), 0U);
}

TEST(KvPages, OnlyWholePagesThatAreFilledAreShared) {
    KvPages pages = pages_of(4);
    ASSERT_TRUE(pages.reserve(kPagesOne, 2 * kPagePositions).has_value());
    pages.find(kPagesOne)->filled = kPagePositions + 1;
    for (const std::uint32_t positions :
         {0U, 10U, 2 * static_cast<std::uint32_t>(kPagePositions)}) {
        EXPECT_EQ(
            pages.share(kPagesOne, kPagesTwo, positions).error().code, swarm::ErrorCode::Mismatch
        );
    }
    EXPECT_EQ(pages.share(kPagesTwo, kPagesOne, 64).error().code, swarm::ErrorCode::NotFound);
    EXPECT_EQ(pages.share(kPagesOne, kPagesOne, 64).error().code, swarm::ErrorCode::NotFound);
    EXPECT_EQ(pages.pages_in_use(), 2U);
}

TEST(KvPages, ShrinkGivesBackPagesWithoutPositions) {
    KvPages pages = pages_of(4);
    ASSERT_TRUE(pages.reserve(kPagesOne, 4 * kPagePositions).has_value());
    pages.find(kPagesOne)->filled = 100;
    pages.shrink(kPagesOne, kPagePositions);
    EXPECT_EQ(pages.find(kPagesOne)->filled, kPagePositions);
    EXPECT_EQ(pages.pages_in_use(), 1U);
    pages.shrink(kPagesTwo, 5);
    EXPECT_EQ(pages.pages_in_use(), 1U);
}

TEST(KvPages, ABudgetBelowOnePageIsAlwaysFull) {
    KvPages pages(kShape, 1000, 10);
    EXPECT_EQ(pages.reserve(kPagesOne, 1).error().code, swarm::ErrorCode::Full);
}

}  // namespace
}  // namespace stacking::llama
