#include "stacking/sessions/oracle_session_compute.hpp"

#include <gtest/gtest.h>

namespace stacking::sessions {
namespace {

constexpr CacheId kOne{1};
constexpr CacheId kOtherCache{2};
const std::vector<std::uint32_t> kLastWanted{0};

class OracleCompute : public testing::Test {
 protected:
    std::vector<float> logits_after(
        OracleSessionCompute& compute, CacheId cache, const std::vector<TokenId>& tokens
    ) {
        EXPECT_TRUE(compute.reserve(cache, 64));
        std::vector<float> last;
        for (std::uint32_t at = 0; at < tokens.size(); ++at) {
            const SessionRow row{cache, at};
            const auto out = compute.forward({&row, 1}, std::span(&tokens[at], 1), kLastWanted);
            EXPECT_TRUE(out);
            last = *out;
        }
        return last;
    }

    OracleSessionCompute whole_{OracleModel{}, {0, 3}, 128};
};

TEST_F(OracleCompute, ATokenDependsOnEveryEarlierOne) {
    const auto logits = logits_after(whole_, kOne, {5, 6, 7});
    EXPECT_EQ(logits_after(whole_, kOtherCache, {5, 6, 7}), logits);
    whole_.truncate(kOtherCache, 0);
    EXPECT_NE(logits_after(whole_, kOtherCache, {4, 6, 7}), logits);
    whole_.truncate(kOtherCache, 0);
    EXPECT_NE(logits_after(whole_, kOtherCache, {6, 5, 7}), logits);
}

TEST_F(OracleCompute, OtherWeightsGiveOtherTokens) {
    OracleSessionCompute other(OracleModel{.weights = 2}, {0, 3}, 128);
    EXPECT_NE(logits_after(other, kOne, {5, 6}), logits_after(whole_, kOne, {5, 6}));
}

TEST_F(OracleCompute, RowsOfOneCallEqualRowsOfSeparateCalls) {
    const auto alone = logits_after(whole_, kOne, {5, 6});
    whole_.drop(kOne);
    ASSERT_TRUE(whole_.reserve(kOne, 8));
    ASSERT_TRUE(whole_.reserve(kOtherCache, 8));
    const std::vector<SessionRow> rows{{kOtherCache, 0}, {kOne, 0}, {kOne, 1}};
    const std::vector<TokenId> tokens{9, 5, 6};
    const std::vector<std::uint32_t> wanted{2};
    EXPECT_EQ(*whole_.forward(rows, std::span<const TokenId>(tokens), wanted), alone);
}

TEST_F(OracleCompute, RefusesARowThatDoesNotContinueItsCache) {
    ASSERT_TRUE(whole_.reserve(kOne, 8));
    const TokenId token = 1;
    for (const SessionRow row : {SessionRow{kOne, 1}, SessionRow{kOtherCache, 0}}) {
        const auto out = whole_.forward({&row, 1}, std::span(&token, 1), kLastWanted);
        ASSERT_FALSE(out);
        EXPECT_EQ(out.error().code, swarm::ErrorCode::Mismatch);
    }
    EXPECT_EQ(whole_.gaps(), 2U);
}

TEST_F(OracleCompute, IsFullOnceItsBudgetIsSpentAndNotAfterADrop) {
    ASSERT_TRUE(whole_.reserve(kOne, 100));
    const auto second = whole_.reserve(kOtherCache, 29);
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().reaction, swarm::Reaction::RetryElsewhere);
    EXPECT_EQ(whole_.reserved_positions(), 100U);
    whole_.drop(kOne);
    EXPECT_TRUE(whole_.reserve(kOtherCache, 128));
}

TEST_F(OracleCompute, RefusesNumbersThatNoStageSends) {
    OracleSessionCompute second(OracleModel{}, {1, 3}, 128);
    ASSERT_TRUE(second.reserve(kOne, 8));
    const SessionRow row{kOne, 0};
    const std::vector<float> input{1.5F, 0, 0, 0};
    EXPECT_FALSE(second.forward({&row, 1}, std::span<const float>(input), kLastWanted));
}

}  // namespace
}  // namespace stacking::sessions
