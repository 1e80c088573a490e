#include "stages/worker/stage_worker.hpp"

#include "compression/codec.hpp"
#include "stages/compute/oracle_compute.hpp"
#include "swarm/base/rng.hpp"
#include "swarm/run/step_scalars.hpp"
#include "tests/unit/stages/small_models.hpp"
#include "tests/wrapped_compute.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>

namespace stages {
namespace {

using swarm::ErrorCode;
using swarm::protocol::CodecId;
using swarm::protocol::Dtype;
using swarm::protocol::TensorEnvelope;
using Workers = std::vector<std::unique_ptr<StageWorker>>;

/// Computes microbatch `id` of step 0 at a run's only stage and adds its gradient.
void add_microbatch(StageWorker& worker, const swarm::run::RunConfig& config, std::uint32_t id) {
    const auto leg = test::leg_of(config, id);
    ASSERT_TRUE(worker.forward_tail(leg));
    worker.accumulate(leg.key);
}

/// Scatters and gathers over all workers; each worker adds in another order.
void reduce(
    const Workers& workers, std::uint64_t slice_bytes_max = swarm::protocol::kSliceBytesMax
) {
    const auto members = static_cast<std::uint32_t>(workers.size());
    const Slices slices(workers[0]->extended_elements(), members, slice_bytes_max);
    for (std::uint32_t own = 0; own < members; ++own) {
        workers[own]->begin_result(own, slices);
    }
    for (std::uint32_t slice = 0; slice < slices.count(); ++slice) {
        const std::uint32_t own = slices.owner(slice);
        for (std::uint32_t offset = 1; offset < members; ++offset) {
            const auto& other = *workers[(own + offset) % members];
            ASSERT_TRUE(workers[own]->add_part(slice, other.scatter_part(slice)));
        }
    }
    for (std::uint32_t slice = 0; slice < slices.count(); ++slice) {
        const std::uint32_t own = slices.owner(slice);
        const Payload values = workers[own]->finish_slice(slice);
        for (std::uint32_t other = 0; other < members; ++other) {
            if (other != own) {
                ASSERT_TRUE(workers[other]->store_gathered(slice, values));
            }
        }
    }
}

swarm::protocol::StepScalars scalars_of(
    const swarm::run::RunConfig& config, const StageWorker::ResultSummary& summary
) {
    return swarm::run::step_scalars(config, 0, summary.sums_of_squares);
}

/// An uncoded payload of the run's activation shape with these values.
Payload activation(const swarm::run::RunConfig& config, std::vector<float> values) {
    const auto bytes = std::as_bytes(std::span(values));
    return Payload(
        TensorEnvelope{Dtype::Float32, CodecId::None, swarm::run::activation_shape(config, {0})},
        std::vector(bytes.begin(), bytes.end())
    );
}

TEST(StageWorker, ReducesOverAnyMembersToTheSameBitsAsAlone) {
    const auto config = test::small_run(1);
    Workers alone;
    alone.push_back(test::make_worker(config, test::make_noise_compute, 0));
    for (std::uint32_t id = 0; id < config.microbatches; ++id) {
        add_microbatch(*alone[0], config, id);
    }
    reduce(alone);
    const auto expected = alone[0]->summarise_result();
    const auto state = alone[0]->apply(scalars_of(config, expected), 0);

    swarm::Rng rng(11, 0);
    for (std::uint32_t members = 2; members <= 5; ++members) {
        Workers workers;
        for (std::uint32_t i = 0; i < members; ++i) {
            workers.push_back(test::make_worker(config, test::make_noise_compute, 0));
        }
        for (std::uint32_t id = config.microbatches; id-- > 0;) {
            add_microbatch(*workers[rng.below(members)], config, id);
        }
        reduce(workers);
        for (const auto& worker : workers) {
            const auto summary = worker->summarise_result();
            EXPECT_EQ(summary.hash, expected.hash) << members;
            EXPECT_EQ(summary.sums_of_squares, expected.sums_of_squares) << members;
            EXPECT_EQ(worker->apply(scalars_of(config, summary), 0), state) << members;
        }
    }
}

TEST(StageWorker, HasTheSameResultForEveryCutIntoSlices) {
    const auto config = test::small_run(1);
    std::optional<swarm::Digest> hash;
    for (const std::uint64_t slice_bytes_max : {1ULL << 20, 4096ULL, 200ULL, 8ULL}) {
        Workers members;
        for (std::uint32_t i = 0; i < 3; ++i) {
            members.push_back(test::make_worker(config, test::make_noise_compute, 0));
            add_microbatch(*members[i], config, i);
        }
        reduce(members, slice_bytes_max);
        hash = hash.value_or(members[0]->summarise_result().hash);
        for (const auto& member : members) {
            EXPECT_EQ(member->summarise_result().hash, *hash) << slice_bytes_max;
        }
    }
}

TEST(StageWorker, LetsAnObserverFollowWithoutASliceOfItsOwn) {
    const auto config = test::small_run(1);
    Workers members;
    members.push_back(test::make_worker(config, test::make_noise_compute, 0));
    members.push_back(test::make_worker(config, test::make_noise_compute, 0));
    add_microbatch(*members[0], config, 1);
    add_microbatch(*members[1], config, 4);
    reduce(members);
    auto observer = test::make_worker(config, test::make_noise_compute, 0);
    observer->begin_observed_result(Slices(observer->extended_elements(), 2));
    ASSERT_TRUE(observer->store_gathered(1, members[1]->finish_slice(1)));
    ASSERT_TRUE(observer->store_gathered(0, members[0]->finish_slice(0)));
    const auto summary = observer->summarise_result();
    EXPECT_EQ(summary.hash, members[0]->summarise_result().hash);
    const auto scalars = scalars_of(config, summary);
    EXPECT_EQ(observer->apply(scalars, 0), members[0]->apply(scalars, 0));
}

TEST(StageWorker, ShowsAMissingAndADoubledMicrobatchInItsCounters) {
    const auto config = test::oracle_run(1, 6);
    Workers workers;
    workers.push_back(test::make_worker(config, make_oracle_compute, 0));
    workers.push_back(test::make_worker(config, make_oracle_compute, 0));
    for (const std::uint32_t id : {0U, 1U, 2U, 3U}) {
        add_microbatch(*workers[0], config, id);
    }
    add_microbatch(*workers[1], config, 3);  // microbatch 3 is added twice, 5 never
    add_microbatch(*workers[1], config, 4);
    reduce(workers);
    const auto summary = workers[1]->summarise_result();
    EXPECT_EQ(summary.counted_once, 4U);
    EXPECT_EQ(summary.counted_wrong, 1U);
}

TEST(StageWorker, KeepsTheAccumulatorApartFromAResult) {
    const auto config = test::oracle_run(1, 4);
    Workers workers;
    workers.push_back(test::make_worker(config, make_oracle_compute, 0));
    add_microbatch(*workers[0], config, 0);
    reduce(workers);
    add_microbatch(*workers[0], config, 1);
    EXPECT_EQ(workers[0]->summarise_result().counted_once, 1U);
    reduce(workers);
    EXPECT_EQ(workers[0]->summarise_result().counted_once, 2U);
}

TEST(StageWorker, EmptiesTheAccumulatorWithTheStep) {
    const auto config = test::oracle_run(1, 4);
    Workers workers;
    workers.push_back(test::make_worker(config, make_oracle_compute, 0));
    add_microbatch(*workers[0], config, 0);
    reduce(workers);
    workers[0]->apply(scalars_of(config, workers[0]->summarise_result()), 0);
    reduce(workers);
    EXPECT_EQ(workers[0]->summarise_result().counted_once, 0U);
}

TEST(StageWorker, WarmingUpLeavesNoTrace) {
    const auto config = test::small_run(1);
    Workers workers;
    workers.push_back(test::make_worker(config, test::make_noise_compute, 0));
    workers.push_back(test::make_worker(config, test::make_noise_compute, 0));
    workers[0]->warm_up();
    swarm::Digest first;
    for (const auto& worker : workers) {
        add_microbatch(*worker, config, 2);
        worker->begin_result(0, Slices(worker->extended_elements(), 1));
        worker->finish_slice(0);
        const auto summary = worker->summarise_result();
        EXPECT_EQ(summary.counted_once, 1U);
        first = worker == workers[0] ? summary.hash : first;
        EXPECT_EQ(summary.hash, first);
    }
    for (std::uint32_t stage = 0; stage < 3; ++stage) {
        test::make_worker(test::small_run(3), test::make_noise_compute, stage)->warm_up();
        test::make_worker(test::oracle_run(3, 4), make_oracle_compute, stage)->warm_up();
    }
}

TEST(StageWorker, AddsNothingOfADiscardedGradient) {
    const auto config = test::oracle_run(1, 4);
    Workers workers;
    workers.push_back(test::make_worker(config, make_oracle_compute, 0));
    const auto leg = test::leg_of(config, 2);
    ASSERT_TRUE(workers[0]->forward_tail(leg));
    workers[0]->discard_pending(leg.key);
    add_microbatch(*workers[0], config, 0);
    reduce(workers);
    const auto summary = workers[0]->summarise_result();
    EXPECT_EQ(summary.counted_once, 1U);
    EXPECT_EQ(summary.sums_of_squares[0], 1.0);
}

TEST(StageWorker, RefusesPartsOfAnotherSize) {
    const auto config = test::small_run(1);
    auto worker = test::make_worker(config, test::make_noise_compute, 0);
    auto two = test::make_worker(config, test::make_noise_compute, 0);
    worker->begin_result(0, Slices(worker->extended_elements(), 3));
    two->begin_result(0, Slices(two->extended_elements(), 2));
    const auto added = worker->add_part(0, two->scatter_part(0));
    ASSERT_TRUE(added.has_error());
    EXPECT_EQ(added.error().code, ErrorCode::Mismatch);
    EXPECT_TRUE(worker->store_gathered(1, two->finish_slice(0)).has_error());
    EXPECT_TRUE(worker->store_gathered(3, worker->finish_slice(0)).has_error());
    EXPECT_TRUE(worker->add_part(0, Payload()).has_error());
}

TEST(StageWorker, RefusesGatheredValuesThatAreNotFinite) {
    const auto config = test::oracle_run(1, 4);
    auto worker = test::make_worker(config, make_oracle_compute, 0);
    auto other = test::make_worker(config, make_oracle_compute, 0);
    const Slices slices(worker->extended_elements(), 2);
    worker->begin_result(0, slices);
    other->begin_result(1, slices);
    const Payload good = other->finish_slice(1);
    std::vector<std::byte> bytes(good.bytes().begin(), good.bytes().end());
    const float infinity = std::numeric_limits<float>::infinity();
    std::memcpy(bytes.data(), &infinity, sizeof(infinity));
    const auto stored = worker->store_gathered(1, Payload(good.envelope(), bytes));
    ASSERT_TRUE(stored.has_error());
    EXPECT_EQ(stored.error().code, ErrorCode::NotFinite);
}

class ActivationChecks : public testing::Test {
 protected:
    ActivationChecks()
        : config_(test::small_run(2)),
          tail_(test::make_worker(config_, test::make_noise_compute, 1)),
          values_(std::size_t{config_.batch} * config_.model.context * config_.model.width) {}

    ErrorCode code_for(Payload input) {
        auto leg = test::leg_of(config_, 0);
        leg.input = std::move(input);
        const auto outcome = tail_->forward_tail(leg);
        EXPECT_TRUE(outcome.has_error());
        return outcome.has_error() ? outcome.error().code : ErrorCode::Usage;
    }

    swarm::run::RunConfig config_;
    std::unique_ptr<StageWorker> tail_;
    std::vector<float> values_;
};

TEST_F(ActivationChecks, RefuseAnotherShapeSizeTypeOrCodec) {
    const Payload good = activation(config_, values_);
    const std::vector<std::byte> bytes(good.bytes().begin(), good.bytes().end());
    const auto with = [&](auto change, std::size_t size) {
        TensorEnvelope envelope = good.envelope();
        change(envelope);
        return Payload(
            envelope,
            std::vector(bytes.begin(), bytes.begin() + std::ssize(bytes) - static_cast<long>(size))
        );
    };
    const auto same = [](TensorEnvelope&) {};
    EXPECT_EQ(code_for(Payload()), ErrorCode::Mismatch);
    EXPECT_EQ(code_for(with(same, 4)), ErrorCode::Mismatch);
    EXPECT_EQ(code_for(with([](auto& e) { e.shape[0] = 1; }, 0)), ErrorCode::Mismatch);
    EXPECT_EQ(code_for(with([](auto& e) { e.dtype = Dtype::Int64; }, 0)), ErrorCode::Mismatch);
    EXPECT_EQ(code_for(with([](auto& e) { e.codec = CodecId::Int8; }, 0)), ErrorCode::Mismatch);
}

TEST_F(ActivationChecks, RefuseValuesThatAreNotFinite) {
    values_[17] = std::numeric_limits<float>::quiet_NaN();
    EXPECT_EQ(code_for(activation(config_, values_)), ErrorCode::NotFinite);
}

TEST_F(ActivationChecks, PassAWholeAndFiniteActivation) {
    auto leg = test::leg_of(config_, 0);
    leg.input = activation(config_, values_);
    EXPECT_TRUE(tail_->forward_tail(leg).has_value());
}

TEST(StageWorker, RefusesTokensAndIdsOfAnotherRun) {
    const auto config = test::small_run(2);
    auto worker = test::make_worker(config, test::make_noise_compute, 0);
    auto leg = test::leg_of(config, 0);
    leg.tokens.pop_back();
    EXPECT_EQ(worker->forward(leg, Graph::Drop).error().code, ErrorCode::Mismatch);
    leg = test::leg_of(config, 0);
    leg.tokens[3] = config.model.vocabulary;
    EXPECT_EQ(worker->forward(leg, Graph::Drop).error().code, ErrorCode::Mismatch);
    leg = test::leg_of(config, 0);
    leg.key.microbatch.value = config.microbatches;
    EXPECT_EQ(worker->forward(leg, Graph::Drop).error().code, ErrorCode::Mismatch);
}

/// A compute whose gradient of the weights has one bad element.
class BrokenCompute final : public test::WrappedCompute {
 public:
    using WrappedCompute::WrappedCompute;

    Result<TailOutput> forward_tail(
        const StageTensor* /*input*/,
        std::span<const std::uint32_t> tokens,
        std::span<float> gradient
    ) override {
        std::fill(gradient.begin(), gradient.end(), 0.0F);
        gradient[3] = tokens[0] == 1 ? std::numeric_limits<float>::infinity() : 1.0F;
        return TailOutput{};
    }
};

std::unique_ptr<StageCompute> make_broken_compute(
    const swarm::run::RunConfig& config, const swarm::run::StageLayout& layout
) {
    return std::make_unique<BrokenCompute>(make_oracle_compute(config, layout));
}

TEST(StageWorker, KeepsNoPendingGradientThatIsNotFinite) {
    const auto config = test::oracle_run(1, 4);
    auto worker = test::make_worker(config, make_broken_compute, 0);
    const auto bad = test::leg_of(config, 1);
    const auto outcome = worker->forward_tail(bad);
    ASSERT_TRUE(outcome.has_error());
    EXPECT_EQ(outcome.error().code, ErrorCode::NotFinite);
    EXPECT_DEATH(worker->accumulate(bad.key), "");
}

TEST(StageWorker, SendsUncodedActivationsWithoutACopy) {
    const auto config = test::small_run(2);
    auto worker = test::make_worker(config, test::make_noise_compute, 0);
    const auto sent = worker->forward(test::leg_of(config, 0), Graph::Drop);
    ASSERT_TRUE(sent.has_value());
    const auto* const owner = static_cast<const std::vector<float>*>(sent->owner().get());
    EXPECT_EQ(static_cast<const void*>(owner->data()), sent->bytes().data());
}

TEST(StageWorker, RefusesAnActivationForInferenceThatDoesNotFitThePrompt) {
    const auto config = test::oracle_run(2, 4);
    auto head = test::make_worker(config, make_oracle_compute, 0);
    auto tail = test::make_worker(config, make_oracle_compute, 1);
    const std::vector<std::uint32_t> prompt{5, 6, 7};
    const auto carried = head->infer({}, prompt);
    ASSERT_TRUE(carried.has_value());
    EXPECT_TRUE(tail->infer(*carried, prompt).has_value());
    EXPECT_TRUE(tail->infer({}, prompt).has_error());
    EXPECT_TRUE(tail->infer(*carried, {}).has_error());
    EXPECT_TRUE(tail->infer(*carried, std::vector<std::uint32_t>{5, 6}).has_error());
}

}  // namespace
}  // namespace stages
