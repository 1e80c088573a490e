#include "swarm/run/training/loss_watch.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <vector>

namespace swarm::run {
namespace {

using Loss = std::function<double(std::uint64_t)>;

/// The steps from `from` to before `to` at which a rise was told.
std::vector<std::uint64_t> told(
    LossWatch& watch, std::uint64_t from, std::uint64_t to, const Loss& loss
) {
    std::vector<std::uint64_t> steps;
    for (std::uint64_t step = from; step < to; ++step) {
        if (watch.add(step, loss(step))) {
            steps.push_back(step);
        }
    }
    return steps;
}

Loss always(double loss) {
    return [loss](std::uint64_t) { return loss; };
}

using Steps = std::vector<std::uint64_t>;

TEST(LossWatch, IsSilentWhileTheLossFallsOrVariesALittle) {
    LossWatch watch;
    EXPECT_EQ(told(watch, 0, 100, [](auto step) { return 6.0 - 0.03 * double(step); }), Steps());
    const Loss noisy = [](auto step) { return step % 2 == 0 ? 2.0 : 4.0; };
    EXPECT_EQ(told(watch, 100, 400, noisy), Steps()) << "means do not vary";
}

TEST(LossWatch, TellsARiseOnceAndTheNextOneAfterThisIsMadeUpFor) {
    LossWatch watch;
    EXPECT_EQ(told(watch, 0, 40, always(3.0)), Steps());
    // Mean 3 + n / 20 after n steps of loss 4; a tenth of 3 is passed with the seventh.
    EXPECT_EQ(told(watch, 40, 100, always(4.0)), Steps{46});
    EXPECT_EQ(told(watch, 100, 140, always(3.2)), Steps()) << "it is still above the half";
    EXPECT_EQ(told(watch, 140, 180, always(4.0)), Steps());
    EXPECT_EQ(told(watch, 180, 220, always(3.1)), Steps());
    EXPECT_EQ(told(watch, 220, 240, always(4.0)).size(), 1U);
}

TEST(LossWatch, ASmallLossMayRiseByATenthOfANat) {
    LossWatch watch;
    told(watch, 0, 20, always(0.2));
    EXPECT_EQ(told(watch, 20, 60, always(0.29)), Steps());
    EXPECT_EQ(told(watch, 60, 100, always(0.31)).size(), 1U);
    LossWatch negative;
    told(negative, 0, 20, always(-5.0));
    EXPECT_EQ(told(negative, 20, 60, always(-4.6)), Steps());
    EXPECT_EQ(told(negative, 60, 100, always(-4.4)).size(), 1U);
}

TEST(LossWatch, PassesOverWhatIsNotFinite) {
    LossWatch watch;
    told(watch, 0, 20, always(3.0));
    EXPECT_EQ(told(watch, 20, 60, always(std::numeric_limits<double>::quiet_NaN())), Steps());
    EXPECT_EQ(told(watch, 60, 80, always(3.0)), Steps());
}

TEST(LossWatch, PassesOverTheLossesOfLoopedSteps) {
    LossWatch watch(LoopConfig{.every = 10});
    const auto looped = [](double plain, double other) -> Loss {
        return [plain, other](auto step) { return step % 10 == 9 ? other : plain; };
    };
    EXPECT_EQ(told(watch, 0, 100, looped(3, 9)), Steps());
    EXPECT_EQ(told(watch, 100, 140, looped(4, 0.1)).size(), 1U);
    told(watch, 50, 60, always(1.0));  // the run goes back, and watches the same steps
    EXPECT_EQ(told(watch, 60, 120, looped(1, 9)), Steps());
}

TEST(LossWatch, WatchesLoopedStepsWhereAllAre) {
    LossWatch watch(LoopConfig{.every = 1});
    EXPECT_EQ(told(watch, 0, 40, always(3.0)), Steps());
    EXPECT_EQ(told(watch, 40, 80, always(4.0)).size(), 1U);
}

TEST(LossWatch, ARunThatGoesBackBeginsAnew) {
    LossWatch watch;
    told(watch, 0, 40, [](auto step) { return 6.0 - 0.1 * double(step); });
    EXPECT_EQ(told(watch, 10, 30, always(5.0)), Steps());
    EXPECT_EQ(told(watch, 30, 60, always(6.0)), Steps{40});
}

TEST(LossWatch, KnowsTheLossesOfEarlierProcesses) {
    LossWatch watch;
    for (std::uint64_t step = 0; step < 40; ++step) {
        watch.recall(step, 3.0);
    }
    EXPECT_EQ(told(watch, 40, 60, always(4.0)), Steps{46});
    for (std::uint64_t step = 0; step < 60; ++step) {
        watch.recall(step, 9.0);  // the coordinator started again
    }
    EXPECT_EQ(told(watch, 60, 100, always(4.0)), Steps());
}

TEST(LossWatch, TellsOfARiseThatAnEarlierProcessSaw) {
    LossWatch watch;
    for (std::uint64_t step = 0; step < 60; ++step) {
        watch.recall(step, step < 30 ? 3.0 : 4.0);
    }
    EXPECT_EQ(told(watch, 60, 70, always(4.0)), Steps{60});
}

}  // namespace
}  // namespace swarm::run
