// Conformance: the bits of a row are those of the row alone, whatever else is computed.
#include "stacking/llama/llama_sessions.hpp"

#include "swarm/net/device/worker_pool.hpp"
#include "tests/unit/stacking_llama/random_llama.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

namespace stacking::llama {
namespace {

using kernels::WeightFormat;
using test::Head;
using test::kContext;
using test::kLayers;
using test::kVocabulary;
using test::kWidth;
using test::random_llama;
using test::Stages;

constexpr std::uint32_t kLength = 140;  // three pages, the last one partly filled
constexpr CacheId kFirst{1};
constexpr CacheId kSecond{2};

bool all_finite(std::span<const float> values) {
    return std::ranges::all_of(values, [](float value) { return std::isfinite(value); });
}

/// Computes the logits of a session, each position in a call of its own.
std::vector<float> alone(Stages& stages, CacheId cache, std::uint32_t count) {
    stages.reserve(cache, count);
    return stages.prefill(cache, 0, count, 1);
}

class LlamaRows : public testing::TestWithParam<WeightFormat> {
 protected:
    const models::ModelSource model = random_llama(Head::Own);
};

TEST_P(LlamaRows, ChunksOfAPrefillChangeNoBit) {
    Stages stages(model, 1, GetParam());
    const auto wanted = alone(stages, kFirst, kLength);
    ASSERT_TRUE(all_finite(wanted));
    for (const std::uint32_t chunk : {2U, 3U, 5U, 16U, 63U, 64U, 65U, 128U, 129U, kLength}) {
        stages.truncate(kFirst, 0);
        EXPECT_EQ(stages.prefill(kFirst, 0, kLength, chunk), wanted) << "chunks of " << chunk;
    }
}

TEST_P(LlamaRows, BatchesChangeNoBit) {
    constexpr std::uint32_t kRows = 16;
    Stages single(model, 1, GetParam());
    std::vector<std::vector<float>> wanted(kRows + 1);
    for (std::uint32_t session = 1; session <= kRows; ++session) {
        // The lengths differ and lie on both sides of a page's edge.
        wanted[session] = alone(single, CacheId{session}, 50 + 2 * session + 3);
    }
    Stages stages(model, 1, GetParam());
    for (std::uint32_t session = 1; session <= kRows; ++session) {
        stages.reserve(CacheId{session}, 100);
    }
    for (std::uint32_t size = 1; size <= kRows; ++size) {
        std::vector<SessionRow> rows;
        for (std::uint32_t session = 1; session <= size; ++session) {
            const std::uint32_t prompt = 50 + 2 * session;
            stages.truncate(CacheId{session}, 0);
            static_cast<void>(stages.prefill(CacheId{session}, 0, prompt, prompt));
            rows.push_back({CacheId{session}, prompt});
        }
        for (std::uint32_t step = 0; step < 3; ++step) {
            const auto logits = stages.logits(rows);
            for (std::uint32_t i = 0; i < size; ++i) {
                const auto row = std::span(logits).subspan(i * kVocabulary, kVocabulary);
                const auto& mine = wanted[i + 1];
                EXPECT_TRUE(std::equal(
                    row.begin(), row.end(), mine.begin() + rows[i].position * kVocabulary
                )) << "batch of "
                   << size << ", row " << i << ", step " << step;
                ++rows[i].position;
            }
        }
    }
}

TEST_P(LlamaRows, PrefillAndDecodeInOneCallChangeNoBit) {
    Stages stages(model, 2, GetParam());
    const CacheId second{2};
    const auto first_alone = alone(stages, kFirst, 66);
    const auto second_alone = alone(stages, second, 70);
    stages.truncate(kFirst, 65);
    stages.truncate(second, 60);
    // The call has one row of a decode between ten rows of a prefill.
    std::vector<SessionRow> rows;
    for (std::uint32_t at = 60; at < 70; ++at) {
        rows.push_back({second, at});
        if (at == 64) {
            rows.push_back({kFirst, 65});
        }
    }
    const auto logits = stages.logits(rows);
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const auto& wanted = rows[i].cache == kFirst ? first_alone : second_alone;
        EXPECT_TRUE(std::equal(
            wanted.begin() + rows[i].position * kVocabulary,
            wanted.begin() + (rows[i].position + 1) * kVocabulary,
            logits.begin() + static_cast<std::ptrdiff_t>(i * kVocabulary)
        )) << "row "
           << i;
    }
}

TEST_P(LlamaRows, StagesChangeNoBit) {
    for (const Head head : {Head::Own, Head::Tied}) {
        const models::ModelSource other = random_llama(head);
        Stages whole(other, 1, GetParam());
        whole.reserve(kFirst, kLength);
        const auto wanted = whole.prefill(kFirst, 0, kLength, 50);
        for (std::uint32_t count = 2; count <= kLayers; ++count) {
            Stages stages(other, count, GetParam());
            stages.reserve(kFirst, kLength);
            EXPECT_EQ(stages.prefill(kFirst, 0, kLength, 50), wanted) << count << " stages";
        }
    }
}

TEST_P(LlamaRows, InstructionSetsChangeNoBit) {
    Stages reference(model, 1, GetParam(), {.path = kernels::Path::Scalar});
    reference.reserve(kFirst, 70);
    const auto wanted = reference.prefill(kFirst, 0, 70, 70);
    for (const kernels::Path path : {kernels::Path::Avx2, kernels::Path::Avx512}) {
        if (kernels::kernels_of(path) == nullptr) {
            continue;
        }
        Stages stages(model, 1, GetParam(), {.path = path});
        stages.reserve(kFirst, 70);
        EXPECT_EQ(stages.prefill(kFirst, 0, 70, 70), wanted) << to_text(path);
    }
}

/// A prompt in two calls, and a batch of single rows after it, at two stages.
std::vector<float> whole_session(Stages& stages) {
    stages.reserve(kFirst, kLength + 1);
    stages.reserve(kSecond, kLength + 1);
    std::vector<float> all = stages.prefill(kFirst, 0, kLength, 129);
    const std::vector<float> other = stages.prefill(kSecond, 0, 65, 65);
    all.insert(all.end(), other.begin(), other.end());
    const std::vector<SessionRow> rows{{kFirst, kLength}, {kSecond, 65}};
    const std::vector<float> last = stages.logits(rows);
    all.insert(all.end(), last.begin(), last.end());
    return all;
}

TEST_P(LlamaRows, ThreadsChangeNoBit) {
    Stages alone(model, 2, GetParam());
    const auto wanted = whole_session(alone);
    ASSERT_TRUE(all_finite(wanted));
    for (const std::size_t threads : {1U, 2U, 3U, 5U}) {
        const auto pool = std::make_shared<swarm::net::WorkerPool>(threads, 1);
        Stages stages(model, 2, GetParam(), {.workers = pool});
        for (int round = 0; round < 3; ++round) {
            const auto given = whole_session(stages);
            ASSERT_EQ(given.size(), wanted.size());
            EXPECT_EQ(std::memcmp(given.data(), wanted.data(), wanted.size() * sizeof(float)), 0)
                << threads << " threads, round " << round;
            stages.truncate(kFirst, 0);
            stages.truncate(kSecond, 0);
        }
    }
}

TEST_P(LlamaRows, ATruncatedCacheGoesOnAsIfItHadNeverBeenLonger) {
    Stages stages(model, 2, GetParam());
    const auto wanted = alone(stages, kFirst, kLength);
    for (const std::uint32_t kept : {0U, 1U, 63U, 64U, 65U, 139U}) {
        stages.truncate(kFirst, kept);
        const auto again = stages.prefill(kFirst, kept, kLength - kept, 20);
        EXPECT_TRUE(std::equal(again.begin(), again.end(), wanted.begin() + kept * kVocabulary))
            << "kept " << kept;
    }
}

/// Two sessions go on from the pages of a third one: one with its tokens, one with others.
TEST_P(LlamaRows, ASharedBeginningIsAsGoodAsAnOwnOne) {
    Stages stages(model, 1, GetParam());
    LlamaSessions& sessions = stages.stage(0);
    const auto read = [&](CacheId cache, std::uint32_t from, std::uint32_t upto, TokenId other) {
        std::vector<SessionRow> rows;
        std::vector<TokenId> tokens;
        std::vector<std::uint32_t> wanted;
        for (std::uint32_t position = from; position < upto; ++position) {
            rows.push_back({cache, position});
            tokens.push_back((test::token_of(1, position) + other) % kVocabulary);
            wanted.push_back(position - from);
        }
        auto logits = sessions.forward(rows, std::span<const TokenId>(tokens), wanted);
        EXPECT_TRUE(logits.has_value());
        return logits ? *std::move(logits) : std::vector<float>();
    };
    constexpr std::uint32_t kShared = 128;
    constexpr CacheId kThird{3};
    stages.reserve(kFirst, kContext);
    const auto wanted = read(kFirst, 0, kLength, 0);
    const auto shares = [&](CacheId cache) {
        return sessions.share(kFirst, cache, kShared) && sessions.reserve(cache, kContext);
    };
    ASSERT_TRUE(shares(kSecond) && shares(kThird));
    const auto others = read(kThird, kShared, kLength, 1);
    const auto same = read(kSecond, kShared, kLength, 0);
    EXPECT_TRUE(std::equal(same.begin(), same.end(), wanted.begin() + kShared * kVocabulary));
    EXPECT_NE(others, same);
    const auto next = read(kFirst, kLength, kLength + 5, 0);
    sessions.drop(kFirst);
    EXPECT_EQ(read(kSecond, kLength, kLength + 5, 0), next);
}

TEST_P(LlamaRows, NaNInOneSessionLeavesTheOthersAlone) {
    Stages stages(model, 2, GetParam());
    std::vector<float> hidden(3 * kWidth, 0.25F);
    std::vector<SessionRow> rows;
    for (std::uint64_t session = 1; session <= 3; ++session) {
        stages.reserve(CacheId{session}, 10);
        rows.push_back({CacheId{session}, 0});
    }
    const std::uint32_t wanted[] = {0, 1, 2};
    auto& top = stages.stage(1);
    const auto good = top.forward(rows, std::span<const float>(hidden), wanted);
    for (const SessionRow& row : rows) {
        top.truncate(row.cache, 0);
    }
    hidden[kWidth + 7] = std::numeric_limits<float>::quiet_NaN();
    const auto spoiled = top.forward(rows, std::span<const float>(hidden), wanted);
    ASSERT_TRUE(good.has_value() && spoiled.has_value());
    for (std::size_t i = 0; i < good->size(); ++i) {
        if (i / kVocabulary == 1) {
            EXPECT_TRUE(std::isnan((*spoiled)[i])) << i;
        } else {
            EXPECT_EQ((*spoiled)[i], (*good)[i]) << i;
        }
    }
}

INSTANTIATE_TEST_SUITE_P(
    Weights,
    LlamaRows,
    testing::Values(WeightFormat::Fp32, WeightFormat::Bf16, WeightFormat::Int8),
    [](const auto& format) { return std::string(name_of(format.param)); }
);

TEST(LlamaSessions, ReportsItsShape) {
    const models::ModelSource model = random_llama(Head::Tied);
    Stages stages(model, 2, WeightFormat::Fp32);
    const StageShape below = stages.stage(0).shape();
    const StageShape above = stages.stage(1).shape();
    EXPECT_TRUE(below.first && !below.last && !above.first && above.last);
    EXPECT_EQ(above.width, kWidth);
    EXPECT_EQ(above.vocabulary, kVocabulary);
    EXPECT_EQ(above.context, kContext);
    // Each layer has keys of 24 numbers and values of 24 numbers, 4 bytes each.
    EXPECT_EQ(below.bytes_per_position + above.bytes_per_position, kLayers * 2 * 24 * 4);
}

TEST(LlamaSessions, GivesLogitsOfTheWantedRowsInTheirOrder) {
    const models::ModelSource model = random_llama(Head::Tied);
    Stages stages(model, 1, WeightFormat::Fp32);
    const auto all = alone(stages, kFirst, 4);
    stages.truncate(kFirst, 0);
    std::vector<SessionRow> rows;
    std::vector<TokenId> tokens;
    for (std::uint32_t at = 0; at < 4; ++at) {
        rows.push_back({kFirst, at});
        tokens.push_back(test::token_of(1, at));
    }
    const std::uint32_t wanted[] = {3, 1};
    const auto two = stages.stage(0).forward(rows, std::span<const TokenId>(tokens), wanted);
    ASSERT_TRUE(two.has_value());
    ASSERT_EQ(two->size(), 2 * kVocabulary);
    EXPECT_TRUE(std::equal(two->begin(), two->begin() + kVocabulary, all.begin() + 3 * kVocabulary)
    );
    EXPECT_TRUE(std::equal(two->begin() + kVocabulary, two->end(), all.begin() + kVocabulary));
}

/// Returns the embedding's rows of these tokens.
std::vector<float> embedded(const StageWeights& weights, std::span<const TokenId> tokens) {
    std::vector<float> rows(tokens.size() * kWidth);
    for (std::size_t i = 0; i < tokens.size(); ++i) {
        weights.embedding->read_row(tokens[i], std::span(rows).subspan(i * kWidth, kWidth));
    }
    return rows;
}

TEST(LlamaSessions, BothEndsOfATiedModelTakeTokensAndGiveLogits) {
    const models::ModelSource model = random_llama(Head::Tied);
    const auto layouts = split(model.architecture(), 2);
    const SessionRow rows[] = {{kFirst, 0}, {kFirst, 1}};
    const SessionRow others[] = {{kSecond, 0}, {kSecond, 1}};
    const TokenId tokens[] = {3, 77};
    for (const auto& layout : layouts) {
        auto weights = *load_stage(model, layout, WeightFormat::Fp32);
        LlamaSessions stage(weights, {});
        EXPECT_TRUE(stage.shape().takes_tokens && stage.shape().gives_logits);
        EXPECT_NE(stage.shape().first, stage.shape().last);
        ASSERT_TRUE(stage.reserve(kFirst, 2).has_value());
        ASSERT_TRUE(stage.reserve(kSecond, 2).has_value());
        const auto by_tokens = stage.run_layers(rows, std::span<const TokenId>(tokens));
        const auto by_rows =
            stage.run_layers(others, std::span<const float>(embedded(*weights, tokens)));
        ASSERT_TRUE(by_tokens.has_value() && by_rows.has_value());
        EXPECT_EQ(*by_tokens, *by_rows);
        // The same layers alone are a whole model.
        swarm::run::StageLayout whole = layout;
        whole.has_embedding = whole.has_head = true;
        LlamaSessions alone(*load_stage(model, whole, WeightFormat::Fp32), {});
        ASSERT_TRUE(alone.reserve(kFirst, 2).has_value());
        const std::uint32_t wanted[] = {0, 1};
        EXPECT_EQ(
            stage.logits(*by_tokens), *alone.forward(rows, std::span<const TokenId>(tokens), wanted)
        );
    }
}

TEST(LlamaSessions, AMiddleStageHasAHeadWhereExitsAreWanted) {
    const models::ModelSource model = random_llama(Head::Own);
    const auto layouts = split(model.architecture(), 3);
    for (const Exits exits : {Exits::None, Exits::EveryStage}) {
        const LlamaSessions stage(*load_stage(model, layouts[1], WeightFormat::Int8, exits), {});
        EXPECT_EQ(stage.shape().gives_logits, exits == Exits::EveryStage);
        EXPECT_FALSE(stage.shape().last || stage.shape().takes_tokens);
    }
}

}  // namespace
}  // namespace stacking::llama
