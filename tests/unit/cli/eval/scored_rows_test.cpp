// The scores of a text by a real decoder: their bits do not depend on how many tokens are read at
// once, and they are the loss that stacks are measured by.
#include "stacking/composition/losses.hpp"
#include "stacking/composition/token_scores.hpp"
#include "tests/unit/stacking_llama/random_llama.hpp"

#include <gtest/gtest.h>

#include <numeric>

namespace stacking::composition {
namespace {

namespace llama = stacking::llama;

std::unique_ptr<TextReader> random_reader(llama::WeightChoice choice) {
    const auto source = llama::test::random_llama(llama::test::Head::Tied);
    const auto layout = split(source.architecture(), 1).front();
    ModelReader::Stages stages;
    stages.push_back(std::make_unique<llama::LlamaSessions>(
        *llama::load_stage(source, layout, choice), llama::LlamaSessions::Options{}
    ));
    return *ModelReader::make(std::move(stages));
}

std::vector<TokenId> text_of(std::uint32_t tokens) {
    std::vector<TokenId> text;
    for (std::uint32_t position = 0; position < tokens; ++position) {
        text.push_back(llama::test::token_of(1, position));
    }
    return text;
}

std::vector<double> scores_of(
    TextReader& reader, std::span<const TokenId> text, WindowSizes sizes, std::size_t rows
) {
    std::vector<double> scores;
    const auto take = [&](std::span<const double> more) {
        scores.insert(scores.end(), more.begin(), more.end());
        return true;
    };
    EXPECT_TRUE(score_text(reader, {{}, text, sizes, rows}, take).has_value());
    return scores;
}

TEST(ScoredRows, HaveTheSameBitsHoweverManyAreReadAtOnce) {
    const std::vector<TokenId> text = text_of(300);
    for (const auto& choice :
         {llama::WeightChoice::as_is(), llama::WeightChoice(kernels::WeightFormat::Int8)}) {
        const auto reader = random_reader(choice);
        const std::vector<double> alone = scores_of(*reader, text, {160, 60}, 1);
        EXPECT_EQ(alone.size(), 299U);
        for (const std::size_t rows : {2U, 7U, 64U, 128U, 160U}) {
            EXPECT_EQ(scores_of(*reader, text, {160, 60}, rows), alone) << rows << " rows";
        }
        EXPECT_NE(scores_of(*reader, text, {100, 60}, 64), alone) << "another context";
    }
}

TEST(ScoredRows, OfOneWindowAreTheLossOfTheStacks) {
    const std::vector<TokenId> text = text_of(200);
    const auto reader = random_reader(llama::WeightChoice::as_is());
    const std::vector<double> scores = scores_of(*reader, text, {200, 100}, 128);
    const auto loss = measure_loss(*reader, text, 200);
    ASSERT_TRUE(loss.has_value());
    EXPECT_EQ(loss->tokens, scores.size());
    const double sum = std::accumulate(scores.begin(), scores.end(), 0.0);
    EXPECT_NEAR(-sum / 199, loss->nats_per_token, 1e-6);
}

}  // namespace
}  // namespace stacking::composition
