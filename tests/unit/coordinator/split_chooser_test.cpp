#include "swarm/coordinator/split_chooser.hpp"

#include "tests/start.hpp"
#include "tests/unit/coordinator/two_by_two.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <vector>

namespace swarm::coordinator {
namespace {

using namespace std::chrono_literals;
using Split = std::vector<std::uint32_t>;
using swarm::test::kStart;

/// Two stages of two members, three layers each.
class SplitChooserTest : public testing::Test {
 protected:
    SplitChooserTest() {
        config_.model = *run::named_model("oracle");
        config_.model.layers = 6;
        config_.stages = 2;
        config_.steps = 1000;
        config_.split = run::SplitMode::Measured;
        begin();
    }

    void begin() { run_.begin(config_); }

    void say(std::uint64_t member, double microbatch_s) { run_.say(member, {microbatch_s, 0, 0}); }

    Split next(TimePoint now) { return chooser_.next(run_.context(), run_.measures(), now); }

    run::RunConfig config_;
    TwoByTwo run_;
    SplitChooser chooser_;
};

TEST_F(SplitChooserTest, ASlowStageGetsFewerLayersAfterAWhile) {
    say(1, 0.3);
    say(2, 0.3);
    say(3, 0.9);
    say(4, 0.9);
    EXPECT_EQ(next(kStart), Split{});
    EXPECT_EQ(next(kStart + 29s), Split{});
    EXPECT_EQ(next(kStart + 30s), (Split{5, 1}));
}

TEST_F(SplitChooserTest, TheMembersOfAStageCountTogether) {
    say(1, 0.2);  // the two members together are as fast as two of 0.3 s
    say(2, 0.6);
    say(3, 0.9);
    say(4, 0.9);
    next(kStart);
    EXPECT_EQ(next(kStart + 30s), (Split{5, 1}));
}

TEST_F(SplitChooserTest, NoStageGetsMoreThanTheLeastOfItsMembersLends) {
    const auto layers = [&](std::uint32_t count) {
        auto layout = run_.context().layouts.front();
        layout.tensors.resize(count, layout.tensors.front());
        return run::MemoryPlan(0, config_, layout).needed_bytes(1);
    };
    for (const auto& [bytes, wanted] :
         {std::pair(layers(4), Split{4, 2}),
          std::pair(layers(5) - 1, Split{4, 2}),
          std::pair(layers(5), Split{5, 1}),
          std::pair(layers(3), Split{})}) {
        begin();
        chooser_ = {};
        for (const std::uint64_t member : {1, 2, 3, 4}) {
            say(member, member <= 2 ? 0.3 : 0.9);
        }
        run_.lend(1, layers(6));
        run_.lend(2, bytes);
        next(kStart);
        EXPECT_EQ(next(kStart + 30s), wanted) << bytes;
    }
}

TEST_F(SplitChooserTest, AShortAdvantageIsNotEnough) {
    const auto say_slow = [&](bool slow) {
        for (std::uint64_t slot = 1; slot <= 4; ++slot) {
            say(slot, slow && slot > 2 ? 0.9 : 0.3);
        }
    };
    say_slow(true);
    next(kStart);
    say_slow(false);
    EXPECT_EQ(next(kStart + 20s), Split{});
    say_slow(true);
    EXPECT_EQ(next(kStart + 31s), Split{}) << "it begins anew";
    EXPECT_EQ(next(kStart + 61s), (Split{5, 1}));
}

TEST_F(SplitChooserTest, WaitsUntilEachStageIsMeasured) {
    say(1, 0.3);
    next(kStart);
    EXPECT_EQ(next(kStart + 60s), Split{});
    say(4, 0.9);
    EXPECT_EQ(next(kStart + 90s), Split{});
    EXPECT_EQ(next(kStart + 120s), (Split{5, 1}));
}

TEST_F(SplitChooserTest, ASmallDifferenceIsLeftAlone) {
    say(1, 0.30);
    say(3, 0.33);
    next(kStart);
    EXPECT_EQ(next(kStart + 60s), Split{});
}

/// Each of 8 microbatches becomes a fifth of a second shorter, and a new split costs 5 s.
TEST_F(SplitChooserTest, TheDownloadHasToPayBeforeTheRunEnds) {
    say(1, 0.3);
    say(3, 0.9);
    run_.context().version.step = config_.steps - 2;
    next(kStart);
    EXPECT_EQ(next(kStart + 60s), Split{});
    run_.context().version.step = config_.steps - 4;
    next(kStart + 61s);
    EXPECT_EQ(next(kStart + 120s), (Split{5, 1}));
}

/// No member says how much memory it lends.
TEST_F(SplitChooserTest, NoStageGrowsToMoreThanTwiceTheLargest) {
    config_.model.layers = 9;
    config_.stages = 3;
    begin();
    run_.add_member({2});
    say(1, 0.01);
    say(3, 3);
    say(5, 3);
    next(kStart);
    EXPECT_EQ(next(kStart + 60s), (Split{6, 2, 1})) << "of 3, 3, 3; 7, 1, 1 would be faster";
}

TEST_F(SplitChooserTest, SurvivesAbsurdMeasurements) {
    for (const double first_s : {1e-308, 1e-300, 1.0, 1e300, 1e308}) {
        for (const double second_s : {1e-308, 1e-300, 1.0, 1e300, 1e308}) {
            say(1, first_s);
            say(3, second_s);
            next(kStart);
            const Split split = next(kStart + 60s);
            EXPECT_TRUE(split.empty() || split[0] + split[1] == 6) << first_s << ' ' << second_s;
        }
    }
}

TEST_F(SplitChooserTest, AFixedSplitStays) {
    config_.split = run::SplitMode::Fixed;
    begin();
    say(1, 0.1);
    say(3, 0.9);
    next(kStart);
    EXPECT_EQ(next(kStart + 60s), Split{});
}

}  // namespace
}  // namespace swarm::coordinator
