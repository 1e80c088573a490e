#include "sim/slab.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace sim {
namespace {

TEST(Slab, ObjectsStayWhereTheyAreWhileItGrows) {
    Slab<int> slab;
    const auto first = slab.take();
    int* const place = &slab[first];
    *place = 7;
    for (int i = 0; i < 10000; ++i) {
        slab[slab.take()] = i;
    }
    EXPECT_EQ(&slab[first], place);
    EXPECT_EQ(*place, 7);
}

TEST(Slab, IndicesOfLivingObjectsDiffer) {
    Slab<int> slab;
    std::vector<Slab<int>::Index> taken;
    for (int i = 0; i < 600; ++i) {
        taken.push_back(slab.take());
        slab[taken.back()] = i;
    }
    for (int i = 0; i < 600; ++i) {
        EXPECT_EQ(slab[taken[static_cast<std::size_t>(i)]], i);
    }
}

TEST(Slab, AReleasedPlaceIsTakenAgain) {
    Slab<int> slab;
    const auto index = slab.take();
    slab.release(index);
    EXPECT_EQ(slab.taken(), 0U);
    EXPECT_EQ(slab.take(), index);
}

}  // namespace
}  // namespace sim
