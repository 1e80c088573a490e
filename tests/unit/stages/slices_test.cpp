#include "stages/worker/slices.hpp"

#include <gtest/gtest.h>

namespace stages {
namespace {

TEST(Slices, CoverAllElementsInOrderAsEvenlyAsPossible) {
    for (const std::uint64_t elements : {0U, 1U, 7U, 100U, 101U, 1000U}) {
        for (std::uint32_t members = 1; members <= 9; ++members) {
            for (const std::uint64_t bytes_max : {8U, 24U, 80U, 8000U}) {
                const Slices slices(elements, members, bytes_max);
                std::uint64_t next = 0;
                for (std::uint32_t slice = 0; slice < slices.count(); ++slice) {
                    const SliceRange range = slices.range(slice);
                    ASSERT_EQ(range.begin, next);
                    EXPECT_GE(range.size(), elements / slices.count());
                    EXPECT_LE(range.size(), elements / slices.count() + 1);
                    EXPECT_LE(range.size() * sizeof(std::int64_t), bytes_max);
                    next = range.end;
                }
                EXPECT_EQ(next, elements);
            }
        }
    }
}

TEST(Slices, LieSideBySideForEachMember) {
    const Slices slices(100, 3, 80);
    ASSERT_EQ(slices.pieces(), 4U);
    std::uint64_t next = 0;
    for (std::uint32_t member = 0; member < 3; ++member) {
        EXPECT_EQ(slices.portion(member).begin, next);
        for (std::uint32_t piece = 0; piece < slices.pieces(); ++piece) {
            const std::uint32_t slice = slices.slice(member, piece);
            EXPECT_EQ(slices.owner(slice), member);
            EXPECT_EQ(slices.piece(slice), piece);
        }
        next = slices.portion(member).end;
    }
    EXPECT_EQ(next, 100U);
}

TEST(Slices, AreOnePerMemberInASmallStage) {
    const Slices slices(1'000'000, 2);
    EXPECT_EQ(slices.pieces(), 1U);
    EXPECT_EQ(slices.count(), 2U);
    EXPECT_EQ(Slices(1ULL << 30, 2).pieces(), 512U);
}

}  // namespace
}  // namespace stages
