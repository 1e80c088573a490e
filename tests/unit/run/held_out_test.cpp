#include "swarm/run/training/held_out.hpp"

#include <gtest/gtest.h>

#include <numeric>

namespace swarm::run {
namespace {

/// Windows of 4 + 1 tokens, 2 in a microbatch.
RunConfig small_windows(std::uint32_t batches) {
    RunConfig config;
    config.model.context = 4;
    config.batch = 2;
    config.eval.batches = batches;
    return config;
}

std::vector<std::uint32_t> counting(std::size_t size) {
    std::vector<std::uint32_t> text(size);
    std::iota(text.begin(), text.end(), 0U);
    return text;
}

TEST(HeldOut, SpreadsTheWindowsEvenlyOverTheText) {
    const auto tokens = held_out_tokens(small_windows(1), counting(101));
    EXPECT_EQ(tokens, (std::vector<std::uint32_t>{0, 1, 2, 3, 4, 96, 97, 98, 99, 100}));
    const auto more = held_out_tokens(small_windows(2), counting(101));
    ASSERT_EQ(more.size(), 20U);
    EXPECT_EQ(more[5], 32U);
    EXPECT_EQ(more[10], 64U);
    EXPECT_EQ(more[15], 96U);
}

TEST(HeldOut, ReadsAShortTextOnce) {
    EXPECT_EQ(held_out_tokens(small_windows(8), counting(5)).size(), 10U);   // one window
    EXPECT_EQ(held_out_tokens(small_windows(8), counting(17)).size(), 20U);  // four windows
    EXPECT_EQ(held_out_windows(small_windows(8), 1), (std::vector<std::uint64_t>{0, 0}));
    EXPECT_EQ(held_out_windows(small_windows(2), 10), (std::vector<std::uint64_t>{0, 3, 6, 9}));
}

TEST(HeldOut, TakesEachTextForOneShareOfTheMean) {
    const RunConfig config = small_windows(4);
    const std::vector<HeldOutText> texts{
        {"a", held_out_tokens(config, counting(33))}, {"b", held_out_tokens(config, counting(9))}};
    ASSERT_EQ(held_out_microbatches(config, texts).size(), 5U);
    const std::vector<double> losses{1, 2, 3, 6, 5};
    const HeldOutLosses mean = mean_held_out(config, texts, losses, 7);
    EXPECT_EQ(mean.step, 7U);
    EXPECT_EQ(mean.by_text, (std::vector<double>{3, 5}));
    EXPECT_EQ(mean.loss, 4);
}

TEST(HeldOut, IsDueEachSoManyStepsAndAtTheEnd) {
    RunConfig config;
    config.steps = 25;
    config.eval.every_steps = 10;
    std::vector<std::uint64_t> due;
    for (std::uint64_t step = 0; step <= config.steps; ++step) {
        if (is_evaluation_due(config, step)) {
            due.push_back(step);
        }
    }
    EXPECT_EQ(due, (std::vector<std::uint64_t>{10, 20, 25}));
}

/// Notes the losses; returns the number of the one at which the run is over, from 1; 0: none.
int over_at(HeldOutWatch watch, const std::vector<double>& losses) {
    for (std::size_t i = 0; i < losses.size(); ++i) {
        HeldOutLosses one{i, losses[i], {}, false};
        watch.note(one);
        if (watch.is_over()) {
            return static_cast<int>(i) + 1;
        }
    }
    return 0;
}

TEST(HeldOutWatch, EndsTheRunAfterSoManyInARow) {
    EXPECT_EQ(over_at(HeldOutWatch(2), {3, 3, 2, 2.5, 2}), 5);
    EXPECT_EQ(over_at(HeldOutWatch(2), {3, 4, 2, 3, 1}), 0);
    EXPECT_EQ(over_at(HeldOutWatch(0), {3, 4, 5, 6}), 0);
    EXPECT_EQ(over_at(HeldOutWatch(1, 2.0), {3}), 1);
}

TEST(HeldOutWatch, TellsABetterLoss) {
    HeldOutWatch watch(5, 3.0);
    HeldOutLosses losses{10, 3, {}, false};
    watch.note(losses);
    EXPECT_FALSE(losses.is_best);
    losses.loss = 2;
    watch.note(losses);
    EXPECT_TRUE(losses.is_best);
    losses.loss = 2.5;
    watch.note(losses);
    EXPECT_EQ(watch.reason(), "no better held-out loss than 2.0000 in 1 evaluations");
}

}  // namespace
}  // namespace swarm::run
