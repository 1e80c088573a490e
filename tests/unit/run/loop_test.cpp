#include "swarm/run/training/loop.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace swarm::run {
namespace {

RunConfig looped_run() {
    RunConfig run;
    run.stages = 1;
    run.loop.every = 3;
    return run;
}

std::vector<std::uint64_t> looped_steps(std::uint32_t every) {
    std::vector<std::uint64_t> steps;
    for (std::uint64_t step = 0; step < 8; ++step) {
        if (is_looped({.every = every}, step)) {
            steps.push_back(step + 1);
        }
    }
    return steps;
}

using Steps = std::vector<std::uint64_t>;

TEST(Loop, IsInStepsWhoseNumberIsAMultiple) {
    EXPECT_EQ(looped_steps(0), Steps());
    EXPECT_EQ(looped_steps(1), (Steps{1, 2, 3, 4, 5, 6, 7, 8}));
    EXPECT_EQ(looped_steps(3), (Steps{3, 6}));
    EXPECT_EQ(looped_steps(100), Steps());
    EXPECT_TRUE(is_looped({.every = 100}, 99));
}

TEST(Loop, HasAShareOfThePositionsRoundedUp) {
    const auto positions = [](double part, std::uint32_t context) {
        RunConfig run = looped_run();
        run.loop.part = part;
        run.model.context = context;
        return looped_positions(run);
    };
    EXPECT_EQ(positions(0.25, 128), 32U);
    EXPECT_EQ(positions(0.25, 6), 2U);
    EXPECT_EQ(positions(0.07, 100), 7U) << "0.07 x 100 is a little above 7";
    EXPECT_EQ(positions(1e-12, 128), 1U);
    EXPECT_EQ(positions(1, 128), 128U);
    EXPECT_EQ(positions(1, 1), 1U);
}

TEST(Loop, IsForOneStageOfALlamaInModeExact) {
    struct Bad {
        const char* text;
        std::function<void(RunConfig&)> spoil;
    };

    const Bad runs[] = {
        {"loop.every needs run.stages = 1", [](RunConfig& run) { run.stages = 2; }},
        {"loop.every must be 0 for the oracle",
         [](RunConfig& run) { run.model = *named_model("oracle"); }},
        {"loop.every must be 0 for the oracle model and in mode sparse",
         [](RunConfig& run) { run.mode = SyncMode::Sparse; }},
        {"loop.part must be above 0", [](RunConfig& run) { run.loop.part = 0; }}};
    EXPECT_TRUE(check_run(looped_run()).has_value());
    for (const Bad& bad : runs) {
        RunConfig run = looped_run();
        bad.spoil(run);
        const auto checked = check_run(run);
        ASSERT_TRUE(checked.has_error()) << bad.text;
        EXPECT_TRUE(checked.error().detail.starts_with(bad.text)) << checked.error().detail;
        run.loop.every = 0;
        EXPECT_TRUE(check_run(run).has_value()) << check_run(run).error().detail;
    }
}

TEST(Loop, MayMeetAMixtureDocumentsAndAdapters) {
    RunConfig run = looped_run();
    run.train.separate_documents = true;
    run.lora.rank = 4;
    EXPECT_TRUE(check_run(run).has_value());
    RunConfig mixture = looped_run();
    mixture.model.kind = ModelKind::Mixtral;
    mixture.model.experts = 4;
    EXPECT_TRUE(check_run(mixture).has_value());
}

}  // namespace
}  // namespace swarm::run
