// The oracle's tiny frames weigh what those of the model that it stands for would.
#include "sim/run/stand_in.hpp"

#include "sim/run/run_world.hpp"
#include "stages/worker/slices.hpp"

#include <gtest/gtest.h>

namespace sim {
namespace {

namespace protocol = swarm::protocol;

constexpr std::uint64_t kParameters = 50'000'000;

class StandInTest : public testing::Test {
 protected:
    void make(swarm::run::SyncMode mode = swarm::run::SyncMode::Exact) {
        pipeline_.stages = 2;
        pipeline_.microbatches = 8;
        pipeline_.activation_bytes = 777;
        pipeline_.state_bytes = 12 * kParameters;
        pipeline_.mode = mode;
        config_ = oracle_config(2, 8, 10);
        stand_for(pipeline_, config_);
        layout_ = swarm::run::partition(config_).front();
        for (std::uint32_t number = 1; number <= 2; ++number) {
            fleet_.push_back({.number = number});
            fleet_.back().up_bytes_per_s = 1'250'000;
            fleet_.back().down_bytes_per_s = 1'250'000;
        }
        weights_.emplace(pipeline_, config_, fleet_);
    }

    static node::Payload payload(std::uint32_t elements, std::size_t element_bytes) {
        const protocol::TensorEnvelope envelope{protocol::Dtype::Bytes, {}, {elements}};
        return {envelope, std::vector<std::byte>(elements * element_bytes)};
    }

    /// Bytes of the payload and what the frame weighs besides.
    double weight(protocol::Body body, const node::Payload& payload) {
        const node::Send send{peer(2), {0, 0, std::move(body)}, payload};
        return static_cast<double>(payload.bytes().size() + weights_->extra_bytes(peer(1), send));
    }

    Pipeline pipeline_;
    swarm::run::RunConfig config_;
    swarm::run::StageLayout layout_;
    std::vector<FleetPeer> fleet_;
    std::optional<FrameWeights> weights_;
};

TEST_F(StandInTest, AReductionSendsWhatItsModelWouldInAsManyParts) {
    make();
    const stages::Slices model(kParameters + 8, 2);
    const stages::Slices oracle(layout_.elements() + 8, 2, layout_.slice_bytes_max);
    ASSERT_NEAR(oracle.pieces(), model.pieces(), 0.07 * model.pieces());
    double sums = 0;
    double values = 0;
    for (std::uint32_t slice = 0; slice < oracle.count(); ++slice) {
        const auto elements = static_cast<std::uint32_t>(oracle.range(slice).size());
        sums += weight(protocol::Part{{}, {}, slice, false}, payload(elements, 8));
        values += weight(protocol::Part{{}, {}, slice, true}, payload(elements, 4));
    }
    EXPECT_NEAR(sums, 3.3 * kParameters, 1e-3 * kParameters);
    EXPECT_NEAR(values, 4.0 * kParameters, 1e-3 * kParameters);
}

TEST_F(StandInTest, SumsTravelRawOnFastLines) {
    make();
    const protocol::Part part{{}, {}, 0, false};
    const double packed = weight(part, payload(16, 8));
    fleet_[0].up_bytes_per_s = 300'000'000;
    EXPECT_NEAR(weight(part, payload(16, 8)), packed, 1) << "the slower end decides";
    fleet_[1].down_bytes_per_s = 300'000'000;
    EXPECT_NEAR(weight(part, payload(16, 8)), packed / 3.3 * 8, 1);
}

TEST_F(StandInTest, WhoeverIsNotOfTheFleetHasALineWithoutBound) {
    make();
    const protocol::Part part{{}, {}, 0, false};
    const node::Payload sums = payload(16, 8);
    const double to_peer = weight(part, sums);
    for (const std::uint64_t number : {0U, 1'000'000U}) {  // nobody, and the coordinator
        const node::Send send{peer(number), {0, 0, part}, sums};
        const double bytes =
            static_cast<double>(sums.bytes().size() + weights_->extra_bytes(peer(1), send));
        EXPECT_EQ(bytes, to_peer) << "the sender's line decides";
    }
}

TEST_F(StandInTest, ADownloadHasTheChunksOfItsModel) {
    make();
    const std::uint64_t state_bytes = 12 * layout_.elements();
    const std::uint32_t chunks = swarm::run::chunk_count(state_bytes, layout_.chunk_bytes_max);
    EXPECT_NEAR(chunks, 12.0 * kParameters / protocol::kChunkBytes, 0.07 * chunks);
    double bytes = 0;
    for (std::uint32_t chunk = 0; chunk < chunks; ++chunk) {
        bytes += weight(protocol::Chunk{{}, {}, chunk}, payload(1, 1));
    }
    EXPECT_NEAR(bytes, swarm::run::kPackedStateShare * 12 * kParameters, 1e-3 * 12 * kParameters);
}

TEST_F(StandInTest, AShareOfModeSparseIsShort) {
    make(swarm::run::SyncMode::Sparse);
    EXPECT_NEAR(
        weight(protocol::Part{{}, {}, 0, true}, payload(20, 1)), 116.0 * kParameters / 4096, 200
    );
}

TEST_F(StandInTest, WithoutAStateTheOracleStaysAsItIs) {
    swarm::run::RunConfig config = oracle_config(2, 8, 10);
    stand_for(Pipeline{}, config);
    EXPECT_EQ(config.model.stands_for, 0U);
    EXPECT_EQ(config.model.width, oracle_config(2, 8, 10).model.width);
    EXPECT_EQ(swarm::run::partition(config).front().slice_bytes_max, protocol::kSliceBytesMax);
}

}  // namespace
}  // namespace sim
