#include "swarm/run/batch_plan.hpp"

#include "swarm/base/rng.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <set>
#include <span>

namespace swarm::run {
namespace {

RunConfig small_config() {
    RunConfig config;
    config.batch = 3;
    config.model.context = 4;
    return config;
}

/// The corpus 0, 1, 2, ..., so that a row shows its place.
Corpus counting_corpus(std::size_t size) {
    Corpus corpus(size);
    std::iota(corpus.begin(), corpus.end(), std::uint32_t{0});
    return corpus;
}

TEST(BatchPlan, GivesRowsOfConsecutiveTokensWithTheTargetBehindTheLastInput) {
    const Corpus corpus = counting_corpus(200);
    const auto tokens = BatchPlan(small_config(), corpus).tokens(7, {2});
    ASSERT_EQ(tokens.size(), 3U * 5U);
    for (std::size_t i = 0; i < tokens.size(); ++i) {
        if (i % 5 != 0) {
            EXPECT_EQ(tokens[i], tokens[i - 1] + 1) << i;
        }
    }
}

TEST(BatchPlan, IsAFunctionOfSeedStepAndMicrobatch) {
    const Corpus corpus = counting_corpus(200);
    const RunConfig config = small_config();
    RunConfig reseeded = config;
    reseeded.seed = config.seed + 1;
    const auto tokens = BatchPlan(config, corpus).tokens(1, {1});
    EXPECT_EQ(BatchPlan(config, corpus).tokens(1, {1}), tokens);
    EXPECT_NE(BatchPlan(config, corpus).tokens(2, {1}), tokens);
    EXPECT_NE(BatchPlan(config, corpus).tokens(1, {2}), tokens);
    EXPECT_NE(BatchPlan(reseeded, corpus).tokens(1, {1}), tokens);
}

TEST(BatchPlan, ReachesEveryOffsetOfTheCorpus) {
    const Corpus corpus = counting_corpus(9);
    const BatchPlan plan(small_config(), corpus);
    std::set<std::uint32_t> first_tokens;
    for (std::uint64_t step = 0; step < 100; ++step) {
        first_tokens.insert(plan.tokens(step, {0}).front());
    }
    EXPECT_EQ(first_tokens, (std::set<std::uint32_t>{0, 1, 2, 3, 4}));
}

TEST(BatchPlan, ACorpusOfOneRowIsThatRow) {
    const Corpus corpus = counting_corpus(5);
    RunConfig config = small_config();
    config.batch = 1;
    EXPECT_EQ(
        BatchPlan(config, corpus).tokens(3, {0}), (std::vector<std::uint32_t>{0, 1, 2, 3, 4})
    );
}

TEST(BatchPlan, TokensMayBeMoreThanBytes) {
    const Corpus corpus{0, 255, 256, 2000, 65535};
    RunConfig config = small_config();
    config.batch = 1;
    EXPECT_EQ(
        BatchPlan(config, corpus).tokens(0, {0}),
        (std::vector<std::uint32_t>{0, 255, 256, 2000, 65535})
    );
}

/// Row n begins with n.
class CountingRows final : public SampleRows {
 public:
    void read(std::uint64_t number, std::span<std::uint32_t> ids) const override {
        for (std::uint32_t& id : ids) {
            id = static_cast<std::uint32_t>(number++);
        }
    }
};

TEST(BatchPlan, ReadsEachRowOfADataSetOnceInTheOrderOfTheirNumbers) {
    RunConfig config = small_config();
    config.microbatches = 3;
    config.batch = 2;
    const std::size_t row = config.model.context + std::size_t{1};
    const CountingRows rows;
    const BatchPlan plan(config, {}, &rows);
    std::uint32_t next = 0;
    for (std::uint64_t step = 0; step < 4; ++step) {
        for (std::uint32_t id = 0; id < config.microbatches; ++id) {
            const auto tokens = plan.tokens(step, {id});
            ASSERT_EQ(tokens.size(), config.batch * row);
            for (std::size_t at = 0; at < tokens.size(); at += row) {
                EXPECT_EQ(tokens[at], next);
                EXPECT_EQ(tokens[at + row - 1], next + row - 1);
                ++next;
            }
        }
    }
}

TEST(BatchPlan, NeighbouringStepsAndSeedsShareNoSequence) {
    Corpus marked(1U << 20);
    RunConfig config = small_config();
    config.model.context = 7;
    config.batch = 1;
    for (std::size_t i = 0; i < marked.size(); ++i) {
        marked[i] = static_cast<std::uint8_t>(mix_bits(i) & 0xff);
    }
    std::set<std::vector<std::uint32_t>> rows;
    for (std::uint64_t seed = 0; seed < 8; ++seed) {
        config.seed = seed;
        const BatchPlan plan(config, marked);
        for (std::uint64_t step = 0; step < 8; ++step) {
            for (std::uint32_t id = 0; id < 8; ++id) {
                rows.insert(plan.tokens(step, {id}));
            }
        }
    }
    // 512 draws of 2^20 offsets: one or two clashes are chance; a pattern would lose whole rows of
    // 8.
    EXPECT_GE(rows.size(), 509U);
}

TEST(BatchPlan, WithoutACorpusTheTokensCountUpFromTheMicrobatch) {
    RunConfig config = small_config();
    config.batch = 1;
    const BatchPlan plan(config, {});
    EXPECT_EQ(plan.tokens(0, {254}), (std::vector<std::uint32_t>{254, 255, 0, 1, 2}));
    EXPECT_EQ(plan.tokens(9, {254}), plan.tokens(0, {254}));
}

}  // namespace
}  // namespace swarm::run
