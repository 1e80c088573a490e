// Each mistake of a caller is a typed error that leaves the caches as they were.
#include "stacking/llama/llama_sessions.hpp"
#include "tests/unit/stacking_llama/random_llama.hpp"

#include <gtest/gtest.h>

namespace stacking::llama {
namespace {

using kernels::kPagePositions;
using kernels::WeightFormat;
using swarm::ErrorCode;
using swarm::Reaction;
using test::Head;
using test::kContext;
using test::kVocabulary;
using test::kWidth;

constexpr CacheId kOne{1};
constexpr CacheId kTwo{2};

std::shared_ptr<const StageWeights> weights_of_all() {
    const models::ModelSource model = test::random_llama(Head::Tied);
    return *load_stage(model, split(model.architecture(), 1).front(), WeightFormat::Fp32);
}

class SessionErrors : public testing::Test {
 protected:
    ErrorCode code_of(
        std::vector<SessionRow> rows,
        std::vector<TokenId> tokens,
        std::vector<std::uint32_t> wanted = {}
    ) {
        const auto out = sessions.forward(rows, std::span<const TokenId>(tokens), wanted);
        EXPECT_FALSE(out.has_value());
        EXPECT_EQ(out.error().reaction, Reaction::Reject);
        EXPECT_EQ(out.error().detail.find('\n'), std::string::npos);
        return out.error().code;
    }

    bool takes(std::vector<SessionRow> rows, std::vector<TokenId> tokens) {
        return sessions.forward(rows, std::span<const TokenId>(tokens), {}).has_value();
    }

    static constexpr std::size_t kPages = 3;
    static constexpr std::size_t kPageBytes = kPagePositions * 5 * 2 * 24 * sizeof(float);
    LlamaSessions sessions{weights_of_all(), {.kv_budget_bytes = kPages * kPageBytes + 5}};
};

TEST_F(SessionErrors, FullSendsTheCallerElsewhereUntilPagesAreDropped) {
    ASSERT_TRUE(sessions.reserve(kOne, 2 * kPagePositions).has_value());
    const auto full = sessions.reserve(kTwo, kPagePositions + 1);
    ASSERT_FALSE(full.has_value());
    EXPECT_EQ(full.error().code, ErrorCode::Full);
    EXPECT_EQ(full.error().reaction, Reaction::RetryElsewhere);
    EXPECT_EQ(code_of({{kTwo, 0}}, {1}), ErrorCode::NotFound) << "nothing was reserved";
    sessions.drop(kOne);
    EXPECT_TRUE(sessions.reserve(kTwo, kPagePositions + 1).has_value());
}

TEST_F(SessionErrors, MoreThanTheContextCannotBeReserved) {
    const auto long_one = sessions.reserve(kOne, kContext + 1);
    ASSERT_FALSE(long_one.has_value());
    EXPECT_EQ(long_one.error().code, ErrorCode::TooLarge);
    EXPECT_EQ(long_one.error().reaction, Reaction::Reject);
}

TEST_F(SessionErrors, PositionsMustBeTheNextOnes) {
    ASSERT_TRUE(sessions.reserve(kOne, 10).has_value());
    EXPECT_EQ(code_of({{kOne, 1}}, {1}), ErrorCode::Mismatch);
    EXPECT_EQ(code_of({{kOne, 0}, {kOne, 0}}, {1, 1}), ErrorCode::Mismatch);
    EXPECT_EQ(code_of({{kOne, 0}, {kOne, 2}}, {1, 1}), ErrorCode::Mismatch);
    EXPECT_TRUE(takes({{kOne, 0}, {kOne, 1}}, {1, 1})) << "an error changed the cache";
    EXPECT_EQ(code_of({{kOne, 1}}, {1}), ErrorCode::Mismatch);
}

TEST_F(SessionErrors, PositionsMustBeReserved) {
    ASSERT_TRUE(sessions.reserve(kOne, 1).has_value());
    std::vector<SessionRow> rows;
    for (std::uint32_t at = 0; at <= kPagePositions; ++at) {
        rows.push_back({kOne, at});
    }
    EXPECT_EQ(code_of(rows, std::vector<TokenId>(rows.size())), ErrorCode::TooLarge);
    rows.pop_back();
    EXPECT_TRUE(takes(rows, std::vector<TokenId>(rows.size())));
    EXPECT_EQ(code_of({{kTwo, 0}}, {1}), ErrorCode::NotFound);
}

TEST_F(SessionErrors, InputMustBeTokensOfTheModelOnePerRow) {
    ASSERT_TRUE(sessions.reserve(kOne, 10).has_value());
    EXPECT_EQ(code_of({{kOne, 0}}, {kVocabulary}), ErrorCode::Mismatch);
    EXPECT_EQ(code_of({{kOne, 0}}, {}), ErrorCode::Mismatch);
    EXPECT_EQ(code_of({{kOne, 0}}, {1}, {1}), ErrorCode::Mismatch) << "logits of no row";
    EXPECT_EQ(code_of({{kOne, 0}}, {1}, {0, 0}), ErrorCode::Mismatch) << "more logits than rows";
    const std::vector<float> hidden(kWidth);
    const SessionRow rows[] = {{kOne, 0}};
    const auto out = sessions.forward(rows, std::span<const float>(hidden), {});
    ASSERT_FALSE(out.has_value());
    EXPECT_EQ(out.error().code, ErrorCode::Mismatch);
}

TEST_F(SessionErrors, UpperStagesTakeRowsOfTheirWidth) {
    const models::ModelSource model = test::random_llama(Head::Tied);
    test::Stages stages(model, 2, WeightFormat::Fp32);
    stages.reserve(kOne, 10);
    const SessionRow rows[] = {{kOne, 0}};
    const TokenId tokens[] = {1};
    const std::vector<float> wide(kWidth + 1);
    const std::uint32_t wanted[] = {0};
    EXPECT_FALSE(stages.stage(1).forward(rows, std::span<const TokenId>(tokens), {}).has_value());
    EXPECT_FALSE(stages.stage(1).forward(rows, std::span<const float>(wide), {}).has_value());
    EXPECT_FALSE(stages.stage(0).forward(rows, std::span<const TokenId>(tokens), wanted).has_value()
    ) << "logits of a stage without a head";
}

TEST_F(SessionErrors, ACallWithoutRowsSucceeds) {
    const auto out = sessions.forward({}, std::span<const TokenId>(), {});
    ASSERT_TRUE(out.has_value());
    EXPECT_TRUE(out->empty());
}

TEST_F(SessionErrors, UnknownCachesAreIgnoredByTruncateAndDrop) {
    sessions.truncate(kOne, 3);
    sessions.drop(kOne);
    EXPECT_EQ(code_of({{kOne, 0}}, {1}), ErrorCode::NotFound);
}

}  // namespace
}  // namespace stacking::llama
