#include "swarm/coordinator/blame/conduct.hpp"

#include <gtest/gtest.h>

namespace swarm::coordinator {
namespace {

using namespace std::chrono_literals;

constexpr PeerId kPeer{{7, 0, 0, 0}};
constexpr TimePoint kStart{};

TEST(Conduct, KeepsNobodyAwayWhoWasNotCaught) {
    EXPECT_FALSE(Conduct{}.is_away(kPeer, kStart));
}

TEST(Conduct, KeepsThePeerAwayForTenSecondsTheFirstTime) {
    Conduct conduct;
    conduct.caught(kPeer, kStart);
    EXPECT_TRUE(conduct.is_away(kPeer, kStart + 9'999ms));
    EXPECT_FALSE(conduct.is_away(kPeer, kStart + 10s));
    EXPECT_FALSE(conduct.is_away(PeerId{{8, 0, 0, 0}}, kStart));
}

TEST(Conduct, KeepsThePeerAwayFourTimesLongerEachTimeAndTenMinutesAtMost) {
    Conduct conduct;
    TimePoint now = kStart;
    for (const Duration time : {10s, 40s, 160s, 600s, 600s}) {
        conduct.caught(kPeer, now);
        now += time;
        EXPECT_TRUE(conduct.is_away(kPeer, now - 1ms));
        EXPECT_FALSE(conduct.is_away(kPeer, now));
    }
}

TEST(Conduct, ForgetsThePeerThatMayComeBackFirstWhenThereAreTooMany) {
    Conduct conduct;
    for (std::uint64_t n = 1; n <= Conduct::kCaughtMax; ++n) {
        conduct.caught(PeerId{{n, 0, 0, 0}}, kStart + n * 1ms);
    }
    conduct.caught(PeerId{{Conduct::kCaughtMax + 1, 0, 0, 0}}, kStart + 5s);
    EXPECT_FALSE(conduct.is_away(PeerId{{1, 0, 0, 0}}, kStart + 5s));
    EXPECT_TRUE(conduct.is_away(PeerId{{2, 0, 0, 0}}, kStart + 5s));
}

}  // namespace
}  // namespace swarm::coordinator
