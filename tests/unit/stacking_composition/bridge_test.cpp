#include "stacking/composition/bridged_input.hpp"
#include "stages/files/safetensors.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>

namespace stacking::composition {
namespace {

using swarm::ErrorCode;

TEST(Bridge, AZeroBridgeChangesNoBit) {
    const Bridge bridge = Bridge::zero(3, 2);
    std::vector<float> x{0.1F, -7, 1e-30F, 5};
    const std::vector<float> before = x;
    bridge.add(std::vector<float>{1, 2, 3, 4, 5, 6}, x);
    EXPECT_EQ(x, before);
}

TEST(Bridge, AddsAMapOfEachRow) {
    const Bridge bridge = Bridge::from(2, 2, std::array{1.0F, 2.0F, 3.0F, 4.0F, 10.0F, 20.0F});
    std::vector<float> x{0, 0, 100, 200};
    bridge.add(std::vector<float>{1, 1, 2, 0}, x);
    EXPECT_EQ(x, (std::vector<float>{13, 27, 112, 226}));
}

TEST(Bridge, NormalisedRowsHaveARootMeanSquareOfOne) {
    std::vector<float> rows{3, -3, 100, 0};
    normalise_rows(rows, 2);
    EXPECT_NEAR(rows[0], 1, 1e-5);
    EXPECT_NEAR(rows[1], -1, 1e-5);
    EXPECT_NEAR(rows[2], std::sqrt(2.0), 1e-5);
    EXPECT_EQ(rows[3], 0);
}

TEST(Bridge, ReadsBackWhatItWrote) {
    const std::vector<float> parameters{1, 2, 3, 4, 5, 6, 7, 8};
    const Bridge bridge = Bridge::from(3, 2, parameters);
    const auto read = Bridge::parse(bridge.to_file());
    ASSERT_TRUE(read) << read.error().detail;
    EXPECT_EQ(read->inputs(), 3U);
    EXPECT_EQ(read->outputs(), 2U);
    EXPECT_EQ(read->to_file(), bridge.to_file());
}

TEST(Bridge, ItsMapIsAddedToTheEmbeddingRowByRow) {
    const Bridge bridge = Bridge::from(2, 1, std::array{1.0F, 2.0F, 10.0F});
    const BridgedInput input = bridged_input(bridge, [](TokenId token, std::span<float> row) {
        row[0] = 100 * static_cast<float>(token);
    });
    EXPECT_EQ(input.inputs, 2U);
    const auto both = input.read(std::array<TokenId, 2>{3, 4}, {1, 1, 5, -5});
    EXPECT_NEAR(both.at(0), 300 + 10 + 3, 1e-4);
    EXPECT_NEAR(both.at(1), 400 + 10 - 1, 1e-4);
    EXPECT_EQ(input.read(std::array<TokenId, 1>{4}, {5, -5}).at(0), both[1]);
}

TEST(Bridge, ChangesTheIdentityOfTheModelBehindIt) {
    const swarm::Digest model{};
    const Bridge zero = Bridge::zero(2, 1);
    const Bridge other = Bridge::from(2, 1, std::array{0.0F, 0.0F, 1.0F});
    EXPECT_NE(identity_over(model, zero), model);
    EXPECT_NE(identity_over(model, zero), identity_over(model, other));
    EXPECT_EQ(identity_over(model, zero), identity_over(model, Bridge::zero(2, 1)));
}

TEST(Bridge, FilesOfAnotherShapeOrWithNonFiniteNumbersAreRefused) {
    const std::vector<float> six{1, 2, 3, 4, 5, 6};
    const std::span<const float> values = six;
    const auto code_of = [](const std::vector<stages::NamedTensor>& tensors) {
        return Bridge::parse(stages::write_safetensors(tensors)).error().code;
    };
    EXPECT_EQ(code_of({{"bridge.weight", {2, 3}, values}}), ErrorCode::Mismatch);
    EXPECT_EQ(
        code_of({{"bridge.weight", {2, 3}, values}, {"bridge.bias", {3}, values.first(3)}}),
        ErrorCode::Mismatch
    );
    EXPECT_EQ(
        code_of({{"bridge.weight", {6}, values}, {"bridge.bias", {2}, values.first(2)}}),
        ErrorCode::Mismatch
    );
    const std::vector<float> nan(2, std::numeric_limits<float>::quiet_NaN());
    EXPECT_EQ(
        code_of({{"bridge.weight", {2, 3}, values}, {"bridge.bias", {2}, nan}}),
        ErrorCode::NotFinite
    );
    const std::array<std::byte, 4> torn{};
    EXPECT_TRUE(Bridge::parse(torn).has_error());
}

}  // namespace
}  // namespace stacking::composition
