#include "swarm/run/config.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace swarm::run {
namespace {

TEST(SyncModes, SparseExchangesEverySoManyStepsAndAfterTheLast) {
    RunConfig run;
    run.mode = SyncMode::Sparse;
    run.steps = 20;
    std::vector<std::uint64_t> steps;
    for (std::uint64_t step = 0; step < run.steps; ++step) {
        if (is_sync_step(run, step)) {
            steps.push_back(step);
        }
    }
    EXPECT_EQ(steps, (std::vector<std::uint64_t>{7, 15, 19}));
}

}  // namespace
}  // namespace swarm::run
