// Compute in the world: jobs in order, on time, and not across a crash or a freeze.
#include "tests/start.hpp"
#include "tests/unit/sim/recorder.hpp"

#include <gtest/gtest.h>

namespace sim::test {
namespace {

using namespace std::chrono_literals;
using swarm::test::kStart;

const PeerOptions kHundredPerSecond{.device = {.units_per_s = 100}};

class WorldCompute : public testing::Test {
 protected:
    std::shared_ptr<Diary> add_two_jobs() {
        return add_recorder(
            world_, kAnna, {{"Woke", job(1, 100)}, {"Woke", job(2, 50)}}, kHundredPerSecond
        );
    }

    World world_{World::Options{}};
};

class Flag final : public node::Job {
 public:
    explicit Flag(std::shared_ptr<bool> has_run) : has_run_(std::move(has_run)) {}

    void run() override { *has_run_ = true; }

    [[nodiscard]] double work_units() const override { return 100; }

 private:
    std::shared_ptr<bool> has_run_;
};

TEST_F(WorldCompute, RunsJobsOneAtATimeInOrder) {
    const auto anna = add_two_jobs();
    world_.run_for(10s);
    EXPECT_EQ(anna->when("Computed 1"), kStart + 1s);
    EXPECT_EQ(anna->when("Computed 2"), kStart + 1500ms);
}

TEST_F(WorldCompute, RunsTheJobWhenItIsDone) {
    const auto has_run = std::make_shared<bool>(false);
    const node::Compute compute{{1}, std::make_shared<Flag>(has_run)};
    add_recorder(world_, kAnna, {{"Woke", compute}}, kHundredPerSecond);
    world_.run_for(999ms);
    EXPECT_FALSE(*has_run);
    world_.run_for(1ms);
    EXPECT_TRUE(*has_run);
}

TEST_F(WorldCompute, RunsAJobWithoutAnAnswerInItsTurn) {
    const auto first = std::make_shared<bool>(false);
    const auto second = std::make_shared<bool>(false);
    const node::Compute quiet{{1}, std::make_shared<Flag>(first), false};
    const node::Compute loud{{2}, std::make_shared<Flag>(second)};
    const auto anna =
        add_recorder(world_, kAnna, {{"Woke", quiet}, {"Woke", loud}}, kHundredPerSecond);
    world_.run_for(1s);
    EXPECT_TRUE(*first);
    EXPECT_FALSE(*second);
    world_.run_for(1s);
    EXPECT_TRUE(*second);
    EXPECT_EQ(anna->count("Computed 1"), 0U);
    EXPECT_EQ(anna->when("Computed 2"), kStart + 2s);
}

TEST_F(WorldCompute, AFrozenPeersDeviceStandsStill) {
    const auto anna = add_two_jobs();
    world_.run_for(500ms);
    world_.freeze(kAnna);
    world_.run_for(10s);
    EXPECT_EQ(anna->count("Computed 1"), 0U);
    world_.thaw(kAnna);
    world_.run_for(10s);
    EXPECT_EQ(anna->when("Computed 1"), kStart + 11s);
    EXPECT_EQ(anna->when("Computed 2"), kStart + 11500ms);
}

TEST_F(WorldCompute, JobsVanishWithACrash) {
    const auto anna = add_recorder(world_, kAnna, {{"Woke", job(1, 100)}}, kHundredPerSecond);
    world_.run_for(500ms);
    world_.restart(kAnna);
    world_.run_for(10s);
    EXPECT_EQ(anna->count("Computed 1"), 1U);
    EXPECT_EQ(anna->when("Computed 1"), kStart + 1500ms);
}

TEST_F(WorldCompute, AStallDelaysTheNextJobToStart) {
    const auto anna = add_two_jobs();
    world_.run_for(500ms);
    world_.stall_jobs(kAnna, 4s);
    world_.run_for(10s);
    EXPECT_EQ(anna->when("Computed 1"), kStart + 1s);
    EXPECT_EQ(anna->when("Computed 2"), kStart + 5500ms);
}

TEST_F(WorldCompute, AJobStallsInSoManyCases) {
    world_.set_job_stalls(1, 1, 1s);
    const auto anna = add_two_jobs();
    world_.run_for(10s);
    EXPECT_EQ(anna->when("Computed 1"), kStart + 2s);
    EXPECT_EQ(anna->when("Computed 2"), kStart + 3500ms);
}

TEST_F(WorldCompute, ASlowerDeviceTakesLonger) {
    const auto anna = add_two_jobs();
    world_.run_for(500ms);
    world_.set_speed(kAnna, 10);
    world_.run_for(10s);
    EXPECT_EQ(anna->when("Computed 2"), kStart + 6s);
}

}  // namespace
}  // namespace sim::test
