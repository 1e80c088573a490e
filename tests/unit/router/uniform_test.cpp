#include "router/uniform.hpp"

#include <gtest/gtest.h>

#include <map>

namespace router {
namespace {

TEST(Uniform, PicksEveryOpenPeerEquallyOften) {
    Uniform policy(1);
    for (std::uint64_t i = 1; i <= 4; ++i) {
        policy.add({i}, {});
    }
    std::map<SlotId, int> picks;
    for (int i = 0; i < 4000; ++i) {
        ++picks[*policy.pick({}, {})];
    }
    ASSERT_EQ(picks.size(), 4U);
    for (const auto& [slot, count] : picks) {
        EXPECT_NEAR(count, 1000, 100) << slot.value;
    }
}

TEST(Uniform, DoesNotLookAtRates) {
    Uniform told(1);
    Uniform untold(1);
    for (std::uint64_t i = 1; i <= 4; ++i) {
        told.add({i}, {});
        untold.add({i}, {});
        told.rate_changed({i}, static_cast<double>(i * i), {});
    }
    for (int i = 0; i < 100; ++i) {
        EXPECT_EQ(told.pick({}, {}), untold.pick({}, {}));
    }
}

}  // namespace
}  // namespace router
