#include "stages/single/sparse_run.hpp"

#include "stages/compute/oracle_compute.hpp"
#include "tests/unit/stages/scratch_folder.hpp"
#include "tests/unit/stages/small_models.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace stages {
namespace {

using swarm::run::RunConfig;

RunConfig sparse(RunConfig config, std::uint32_t replicas, std::uint32_t sync_every) {
    config.mode = swarm::run::SyncMode::Sparse;
    config.replicas = replicas;
    config.sync_every = sync_every;
    return config;
}

void take_steps(SparseRun& run, int steps) {
    for (int step = 0; step < steps; ++step) {
        const auto record = run.step();
        ASSERT_TRUE(record.has_value()) << record.error().detail;
        ASSERT_FALSE(record->skipped) << *record->skipped;
    }
}

std::vector<float> copy(std::span<const float> values) {
    return {values.begin(), values.end()};
}

/// True when all replicas of each stage have the same weights.
bool agree(const SparseRun& run) {
    for (std::uint32_t s = 0; s < run.stages(); ++s) {
        for (std::uint32_t r = 1; r < run.replicas(); ++r) {
            if (!std::ranges::equal(run.state(s, r).weights(), run.state(s, 0).weights())) {
                return false;
            }
        }
    }
    return true;
}

double norm(std::span<const float> values) {
    double squares = 0;
    for (const float value : values) {
        squares += double{value} * value;
    }
    return std::sqrt(squares);
}

TEST(SparseRun, CountsEveryMicrobatchOnceAtEveryStage) {
    SparseRun run(sparse(test::oracle_run(3, 8), 3, 2), make_oracle_compute, {});
    for (std::uint64_t step = 0; step < 5; ++step) {
        const auto record = run.step();
        ASSERT_TRUE(record.has_value()) << record.error().detail;
        EXPECT_EQ(record->step, step);
        EXPECT_EQ(record->counted_once, 8U);
        EXPECT_EQ(record->counted_wrong, 0U);
        EXPECT_EQ(record->result_hashes.size(), 9U);
        EXPECT_EQ(run.version().step, step + 1);
    }
}

TEST(SparseRun, ReplicasAreEqualAfterAnExchangeAndOnlyThen) {
    SparseRun run(sparse(test::small_run(2), 3, 4), test::make_noise_compute, {});
    EXPECT_TRUE(agree(run));
    for (std::uint64_t step = 0; step < 12; ++step) {
        take_steps(run, 1);
        EXPECT_EQ(agree(run), step % 4 == 3) << step;
    }
}

TEST(SparseRun, OneReplicaStepsAsInModeExactUntilItExchanges) {
    const RunConfig config = sparse(test::small_run(2), 1, 8);
    SparseRun run(config, test::make_noise_compute, {});
    SingleRun exact(test::small_run(2), test::make_noise_compute, {});
    for (int step = 0; step < 7; ++step) {
        const auto record = run.step();
        const auto expected = exact.step();
        ASSERT_TRUE(record.has_value() && expected.has_value());
        EXPECT_EQ(record->loss, expected->loss);
        EXPECT_EQ(record->gradient_norm, expected->gradient_norm);
        for (std::uint32_t s = 0; s < run.stages(); ++s) {
            EXPECT_EQ(run.state(s, 0).hash(), exact.state(s).hash()) << step << ", stage " << s;
        }
    }
}

TEST(SparseRun, AReplicaStepsByTheMeanOfItsOwnMicrobatches) {
    // The noise of a step depends on its tokens alone: two replicas of a run of two microbatches
    // each do what a run of one microbatch does, but for the common clip factor.
    RunConfig config = sparse(test::small_run(1), 2, 8);
    config.microbatches = 2;
    config.optimizer.clip_norm = 1e6;
    SparseRun run(config, test::make_noise_compute, {});
    take_steps(run, 1);
    RunConfig alone = config;
    alone.mode = swarm::run::SyncMode::Exact;
    alone.sync_every = 0;
    alone.replicas = 0;
    alone.microbatches = 1;
    SingleRun single(alone, test::make_noise_compute, {});
    ASSERT_TRUE(single.step().has_value());
    // The noise compute does not divide its gradient by the number of microbatches, so the gradient
    // is twice that of the run of one microbatch.
    for (std::size_t i = 0; i < run.state(0, 0).weights().size(); ++i) {
        ASSERT_EQ(run.state(0, 0).first_moments()[i], 2 * single.state(0).first_moments()[i]) << i;
    }
    EXPECT_FALSE(agree(run));
}

TEST(SparseRun, SendsASmallPartAndKeepsTheRest) {
    SparseRun run(sparse(test::small_run(1), 2, 2), test::make_noise_compute, {});
    const std::vector<float> before = copy(run.state(0, 0).weights());
    EXPECT_EQ(norm(run.error(0, 0)), 0);
    take_steps(run, 2);
    EXPECT_GT(norm(run.error(0, 0)), 0);
    std::size_t moved = 0;
    for (std::size_t i = 0; i < before.size(); ++i) {
        moved += run.state(0, 0).weights()[i] != before[i] ? 1U : 0U;
    }
    EXPECT_GT(moved, 0U);
    EXPECT_LT(moved, before.size() / 16);
    EXPECT_LT(run.share_bytes(), before.size());
}

TEST(SparseRun, LowersTheOraclesLoss) {
    SparseRun run(sparse(test::oracle_run(2, 4), 2, 2), make_oracle_compute, {});
    const auto first = run.step();
    ASSERT_TRUE(first.has_value());
    take_steps(run, 19);
    const auto last = run.step();
    ASSERT_TRUE(last.has_value());
    EXPECT_LT(last->loss, first->loss);
}

TEST(SparseRun, RepeatsItselfBitForBit) {
    const RunConfig config = sparse(test::small_run(3), 3, 2);
    SparseRun once(config, test::make_noise_compute, {});
    SparseRun again(config, test::make_noise_compute, {});
    take_steps(once, 5);
    take_steps(again, 5);
    EXPECT_EQ(once.weights_sha256(), again.weights_sha256());
    EXPECT_EQ(once.state(1, 2).hash(), again.state(1, 2).hash());
}

TEST(SparseRun, SkipsAStepWithALossThatIsNotFinite) {
    // The second loss of the last stage's first replica is bad. That replica has microbatches 0 and
    // 2 of the first step.
    int tails = 0;
    const auto make = [&](const auto& config, const auto& layout) {
        auto oracle = make_oracle_compute(config, layout);
        const bool bad = layout.has_head && tails++ == 0;
        return bad ? test::make_losses_not_finite(std::move(oracle), {1}) : std::move(oracle);
    };
    SparseRun run(sparse(test::oracle_run(2, 4), 2, 8), make, {});
    const swarm::Digest before = run.weights_sha256();
    const auto skipped = run.step();
    ASSERT_TRUE(skipped.has_value()) << skipped.error().detail;
    ASSERT_TRUE(skipped->skipped);
    EXPECT_TRUE(skipped->skipped->starts_with("microbatch 2: ")) << *skipped->skipped;
    EXPECT_EQ(run.skips_in_a_row(), 1U);
    EXPECT_TRUE(agree(run));
    EXPECT_EQ(run.weights_sha256(), before);
    const auto sound = run.step();
    ASSERT_TRUE(sound.has_value());
    EXPECT_EQ(sound->counted_once, 4U) << "nothing is left of what was added before";
    EXPECT_EQ(run.skips_in_a_row(), 0U);
}

TEST(SparseRun, ALostReplicaCostsItsShareOnly) {
    SparseRun run(sparse(test::small_run(2), 3, 4), test::make_noise_compute, {});
    take_steps(run, 6);
    const std::vector<float> other_error = copy(run.error(1, 0));
    const std::vector<float> other_weights = copy(run.state(1, 0).weights());
    // Replica (m + t) mod 3 has microbatch m of step t, so replica 2 has two of the five in step 4
    // and two in step 5.
    EXPECT_EQ(run.replace(1, 2), 4U);
    EXPECT_EQ(norm(run.error(1, 2)), 0);
    EXPECT_EQ(copy(run.state(1, 2).first_moments()), copy(run.state(1, 0).first_moments()));
    EXPECT_EQ(copy(run.error(1, 0)), other_error);
    EXPECT_EQ(copy(run.state(1, 0).weights()), other_weights);
    EXPECT_EQ(run.replace(1, 2), 0U) << "it has just joined";
    const auto record = run.step();
    ASSERT_TRUE(record.has_value()) << record.error().detail;
    EXPECT_EQ(record->counted_once, 5U);
    take_steps(run, 1);
    EXPECT_TRUE(agree(run));
}

class SparseCheckpoint : public testing::Test {
 protected:
    [[nodiscard]] static RunConfig config() { return sparse(test::small_run(2), 3, 2); }

    void write(const SparseRun& run) {
        std::vector<const StageState*> states;
        std::vector<ReplicaView> replicas;
        for (std::uint32_t s = 0; s < run.stages(); ++s) {
            states.push_back(&run.state(s, 0));
            for (std::uint32_t r = 0; r < run.replicas(); ++r) {
                replicas.push_back({r, &run.state(s, r), run.error(s, r)});
            }
        }
        ASSERT_TRUE(write_checkpoint(scratch.path(), run.config(), states, {}, replicas));
    }

    /// Resumes a run, whose configuration may differ from that of the checkpoint.
    void resume(SparseRun& run) {
        const auto found = find_latest(scratch.path());
        ASSERT_TRUE(found.has_value()) << found.error().detail;
        std::vector<StageState> states;
        std::vector<std::vector<ReplicaState>> replicas;
        for (const auto& layout : swarm::run::partition(run.config())) {
            auto state = restore_stage(found->checkpoint, layout);
            auto kept = restore_replicas(found->checkpoint, layout);
            ASSERT_TRUE(state.has_value() && kept.has_value());
            states.push_back(std::move(*state));
            replicas.push_back(std::move(*kept));
        }
        run.resume(std::move(states), std::move(replicas));
    }

    test::ScratchFolder scratch;
};

TEST_F(SparseCheckpoint, GoesOnAsIfUninterrupted) {
    SparseRun whole(config(), test::make_noise_compute, {});
    take_steps(whole, 4);
    write(whole);
    SparseRun resumed(config(), test::make_noise_compute, {});
    resume(resumed);
    EXPECT_EQ(resumed.version().step, 4U);
    for (std::uint32_t r = 0; r < 3; ++r) {
        EXPECT_EQ(resumed.state(1, r).hash(), whole.state(1, r).hash()) << r;
        EXPECT_EQ(copy(resumed.error(1, r)), copy(whole.error(1, r))) << r;
    }
    take_steps(whole, 5);
    take_steps(resumed, 5);
    EXPECT_EQ(resumed.weights_sha256(), whole.weights_sha256());
    EXPECT_EQ(resumed.state(0, 2).hash(), whole.state(0, 2).hash());
}

TEST_F(SparseCheckpoint, HasTheSameReplicasInAnySplitOfTheModel) {
    SparseRun whole(config(), test::make_noise_compute, {});
    take_steps(whole, 2);
    write(whole);
    SparseRun resumed(sparse(test::small_run(3), 3, 2), test::make_noise_compute, {});
    resume(resumed);
    EXPECT_EQ(resumed.weights_sha256(), whole.weights_sha256());
    double before = 0;
    double after = 0;
    for (std::uint32_t s = 0; s < 3; ++s) {
        after += std::pow(norm(resumed.error(s, 1)), 2);
        before += s < 2 ? std::pow(norm(whole.error(s, 1)), 2) : 0;
    }
    EXPECT_NEAR(after, before, 1e-12 * before);
}

TEST_F(SparseCheckpoint, AReplicaThatItLacksJoinsWithTheStagesMomentsAndAnEmptyBuffer) {
    SparseRun whole(config(), test::make_noise_compute, {});
    take_steps(whole, 2);
    write(whole);
    SparseRun larger(sparse(test::small_run(2), 4, 2), test::make_noise_compute, {});
    resume(larger);
    EXPECT_TRUE(agree(larger));
    EXPECT_EQ(larger.state(0, 3).hash(), larger.state(0, 0).hash());
    EXPECT_EQ(norm(larger.error(0, 3)), 0);
    EXPECT_GT(norm(larger.error(0, 2)), 0);
    take_steps(larger, 2);
}

TEST_F(SparseCheckpoint, CanBeReadInModeExact) {
    SparseRun sparse_run(config(), test::make_noise_compute, {});
    take_steps(sparse_run, 2);
    write(sparse_run);
    const auto found = find_latest(scratch.path());
    ASSERT_TRUE(found.has_value()) << found.error().detail;
    const auto layout = swarm::run::partition(test::small_run(1))[0];
    const auto state = restore_stage(found->checkpoint, layout);
    ASSERT_TRUE(state.has_value());
    const std::span<const float> weights = state->weights();
    EXPECT_EQ(weights_hash({{weights}}), sparse_run.weights_sha256());
}

}  // namespace
}  // namespace stages
