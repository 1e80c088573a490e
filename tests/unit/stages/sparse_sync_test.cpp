#include "stages/worker/sparse_sync.hpp"

#include "swarm/base/digest.hpp"
#include "swarm/base/rng.hpp"
#include "tests/unit/stages/small_models.hpp"

#include <gtest/gtest.h>

#include <cfloat>
#include <cmath>
#include <string>
#include <vector>

namespace stages {
namespace {

using compression::CodecId;
using swarm::ErrorCode;

using Values = std::vector<float>;

const compression::Codec& codec(CodecId id) {
    return *compression::find_codec(id);
}

/// A stage of about 5,000 weights with tensors of many sizes.
class SparseSyncTest : public testing::Test {
 protected:
    /// Random multiples of 2^-10 below 1, so that sums and differences of a few are exact.
    [[nodiscard]] Values some(std::uint64_t seed) const {
        swarm::Rng rng(seed, 1);
        Values values(layout.elements());
        for (float& value : values) {
            value = std::ldexp(static_cast<float>(rng.below(2048)) - 1024.0F, -10);
        }
        return values;
    }

    /// The share of a replica whose buffer was empty.
    [[nodiscard]] SparseShare share_of(
        CodecId id, const Values& shared, const Values& local, std::uint64_t microbatches = 1
    ) const {
        Values error(layout.elements());
        auto bytes = take_share(layout, codec(id), shared, local, error, 0);
        EXPECT_TRUE(bytes.has_value());
        return {std::move(*bytes), microbatches};
    }

    /// The values of a share as flat weights.
    [[nodiscard]] Values decoded(const std::vector<std::byte>& bytes) const {
        Values zeros(layout.elements());
        EXPECT_TRUE(apply_shares(layout, codec(CodecId::Sparse), {{{bytes, 1}}}, zeros).has_value()
        );
        for (float& value : zeros) {
            value = -value;
        }
        return zeros;
    }

    const swarm::run::StageLayout layout = swarm::run::partition(test::small_run(1))[0];
};

TEST_F(SparseSyncTest, SharesHaveTheSizeOfTheirTensors) {
    std::uint64_t bytes = 0;
    for (const swarm::run::TensorSpec& tensor : layout.tensors) {
        bytes += codec(CodecId::Sparse).encoded_bytes(tensor.elements());
    }
    EXPECT_EQ(share_bytes(layout, codec(CodecId::Sparse)), bytes);
    EXPECT_EQ(share_of(CodecId::Sparse, some(1), some(2)).bytes.size(), bytes);
    EXPECT_EQ(share_bytes(layout, codec(CodecId::None)), 4 * layout.elements());
}

TEST_F(SparseSyncTest, TheBufferKeepsWhatWasNotSent) {
    Values error = some(3);
    for (std::uint64_t round = 0; round < 20; ++round) {
        const Values shared = some(10 + round);
        const Values local = some(50 + round);
        const Values before = error;
        const auto share = take_share(layout, codec(CodecId::Sparse), shared, local, error, round);
        ASSERT_TRUE(share.has_value());
        const Values sent = decoded(*share);
        for (std::size_t i = 0; i < sent.size(); ++i) {
            const float whole = kErrorDecay * before[i] + (shared[i] - local[i]);
            const double lost = double{whole} - (double{sent[i]} + double{error[i]});
            ASSERT_LE(std::fabs(lost), 0x1p-24 * std::fabs(sent[i])) << "element " << i;
            if (sent[i] == 0) {
                ASSERT_EQ(error[i], whole) << "element " << i;
            }
        }
    }
}

TEST_F(SparseSyncTest, AveragesWholeExactChanges) {
    const Values shared = some(1);
    const Values locals[] = {some(2), some(3), some(4), some(5)};
    std::vector<SparseShare> shares;
    for (const Values& local : locals) {
        shares.push_back(share_of(CodecId::None, shared, local));
    }
    Values after = shared;
    ASSERT_TRUE(apply_shares(layout, codec(CodecId::None), shares, after).has_value());
    for (std::size_t i = 0; i < after.size(); ++i) {
        const float sum = locals[0][i] + locals[1][i] + locals[2][i] + locals[3][i];
        ASSERT_EQ(after[i], sum / 4) << "element " << i;
    }
}

TEST_F(SparseSyncTest, AReplicaThatSendsEverythingKeepsNothing) {
    Values error(layout.elements());
    ASSERT_TRUE(take_share(layout, codec(CodecId::None), some(1), some(2), error, 0).has_value());
    EXPECT_EQ(error, Values(layout.elements(), 0.0F));
}

TEST_F(SparseSyncTest, WeighsReplicasByTheirMicrobatches) {
    const Values shared(layout.elements(), 1.0F);
    const Values first(layout.elements(), 0.0F);
    const Values second(layout.elements(), 3.0F);
    const SparseShare shares[] = {
        share_of(CodecId::None, shared, first, 3), share_of(CodecId::None, shared, second, 1)};
    Values after = shared;
    ASSERT_TRUE(apply_shares(layout, codec(CodecId::None), shares, after).has_value());
    EXPECT_EQ(after, Values(layout.elements(), 0.75F));
}

/// The sum is divided by all replicas, so an element that one of two replicas sent moves by half.
TEST_F(SparseSyncTest, AnElementThatOneReplicaSentMovesByItsPartOfTheMean) {
    const Values shared(layout.elements(), 0.0F);
    Values local = shared;
    local[5] = -2;
    const SparseShare shares[] = {
        share_of(CodecId::Sparse, shared, local), share_of(CodecId::Sparse, shared, shared)};
    Values after = shared;
    ASSERT_TRUE(apply_shares(layout, codec(CodecId::Sparse), shares, after).has_value());
    EXPECT_EQ(after[5], -1.0F);
}

/// The test pins the bits, so another compiler, path or order of operations shows. The hash was
/// computed without this code, from the formulas in sparse_sync.hpp and compression/README.md.
TEST_F(SparseSyncTest, AllReplicasGetTheSameBitsFromTheSameShares) {
    Values shared = some(1);
    std::vector<Values> errors(3, Values(layout.elements()));
    std::vector<Values> copies(3, shared);
    for (std::uint64_t round = 0; round < 5; ++round) {
        std::vector<SparseShare> shares;
        for (std::uint64_t r = 0; r < errors.size(); ++r) {
            Values local = some(100 * round + r);
            for (float& value : local) {
                value = value / 3;  // the quotient is rounded
            }
            auto bytes =
                take_share(layout, codec(CodecId::Sparse), shared, local, errors[r], round);
            ASSERT_TRUE(bytes.has_value());
            shares.push_back({std::move(*bytes), 1 + r});
        }
        for (Values& copy : copies) {
            ASSERT_TRUE(apply_shares(layout, codec(CodecId::Sparse), shares, copy).has_value());
            ASSERT_EQ(copy, copies[0]);
        }
        shared = copies[0];
    }
    swarm::Sha256 hash;
    hash.add(std::as_bytes(std::span(shared)));
    hash.add(std::as_bytes(std::span(errors[2])));
    EXPECT_EQ(
        swarm::to_hex(hash.finish()),
        "bc35ff17a257c156efd640ff4a4ec9baa27736218c4da5aa487f8f013c71853c"
    );
}

TEST_F(SparseSyncTest, ALostReplicaCostsItsShareOnly) {
    const Values shared = some(1);
    const SparseShare first = share_of(CodecId::None, shared, some(2));
    const SparseShare third = share_of(CodecId::None, shared, some(4));
    Values after = shared;
    const SparseShare left[] = {first, third};
    ASSERT_TRUE(apply_shares(layout, codec(CodecId::None), left, after).has_value());
    const Values a = some(2);
    const Values c = some(4);
    for (std::size_t i = 0; i < after.size(); ++i) {
        ASSERT_EQ(after[i], (a[i] + c[i]) / 2) << "element " << i;
    }
}

TEST_F(SparseSyncTest, RefusesAShareOfAnotherStage) {
    Values shared = some(1);
    const Values before = shared;
    SparseShare share = share_of(CodecId::Sparse, shared, some(2));
    share.bytes.pop_back();
    const auto applied = apply_shares(layout, codec(CodecId::Sparse), {{share}}, shared);
    ASSERT_TRUE(applied.has_error());
    EXPECT_EQ(applied.error().code, ErrorCode::Mismatch);
    EXPECT_EQ(shared, before);
}

TEST_F(SparseSyncTest, ADamagedShareLeavesTheWeightsAsTheyAre) {
    Values shared = some(1);
    const Values before = shared;
    const SparseShare good = share_of(CodecId::Sparse, shared, some(2));
    // These bytes are headers of the first and of the last tensor.
    const std::uint64_t last =
        codec(CodecId::Sparse).encoded_bytes(layout.tensors.back().elements());
    for (const std::size_t place : {std::size_t{0}, good.bytes.size() - last}) {
        SparseShare bad = good;
        bad.bytes[place] = std::byte{0xff};
        const SparseShare shares[] = {good, bad};
        const auto applied = apply_shares(layout, codec(CodecId::Sparse), shares, shared);
        ASSERT_TRUE(applied.has_error()) << place;
        EXPECT_EQ(applied.error().code, ErrorCode::Malformed);
        EXPECT_EQ(shared, before);
    }
}

TEST_F(SparseSyncTest, RefusesWeightsThatFp32CannotHold) {
    Values shared(layout.elements(), FLT_MAX / 2);
    const Values before = shared;
    const SparseShare up = share_of(
        CodecId::None,
        Values(layout.elements(), -FLT_MAX / 2),
        Values(layout.elements(), FLT_MAX / 2)
    );
    const auto applied = apply_shares(layout, codec(CodecId::None), {{up}}, shared);
    ASSERT_TRUE(applied.has_error());
    EXPECT_EQ(applied.error().code, ErrorCode::NotFinite);
    EXPECT_EQ(shared, before);
    Values error(layout.elements());
    Values local = before;
    local[7] = std::nanf("");
    const auto taken = take_share(layout, codec(CodecId::Sparse), before, local, error, 0);
    ASSERT_TRUE(taken.has_error());
    EXPECT_EQ(taken.error().code, ErrorCode::NotFinite);
}

}  // namespace
}  // namespace stages
