// Moves states for members made by hand, whose gradients are known.
#include "stacking/composition/alignment/moved_states.hpp"

#include "tests/unit/stacking_composition/alignment/hand_made_compute.hpp"

#include <cmath>

namespace stacking::composition {
namespace {

using stages::StageTensor;
using swarm::Result;

/// Has as loss the mean over rows of (label - x0)^2 / 2, where x0 is the first value of a row.
class FirstValueIsTheLabel final : public HandMadeCompute {
 public:
    Result<double> tail_loss(Input input, Tokens tokens) override {
        double sum = 0;
        for (std::size_t row = 0; row < rows(*input); ++row) {
            const double apart = label(*input, tokens, row) - input->values[row * input->shape[2]];
            sum += apart * apart / 2;
        }
        return sum / static_cast<double>(rows(*input));
    }

    Result<TailOutput> forward_tail(Input input, Tokens tokens, std::span<float> gradient)
        override {
        EXPECT_EQ(gradient.size(), 5U);
        std::vector<float> below(input->values.size());
        for (std::size_t row = 0; row < rows(*input); ++row) {
            const std::size_t at = row * input->shape[2];
            below[at] = static_cast<float>(
                (input->values[at] - label(*input, tokens, row)) / static_cast<double>(rows(*input))
            );
        }
        return TailOutput{0, stages::make_host_tensor(input->shape, std::move(below))};
    }

 private:
    static std::size_t rows(const StageTensor& input) {
        return std::size_t{input.shape[0]} * input.shape[1];
    }

    static double label(const StageTensor& input, Tokens tokens, std::size_t row) {
        const std::size_t context = input.shape[1];
        return tokens[row / context * (context + 1) + row % context + 1];
    }
};

StateShard two_sequences() {
    return {2, 2, {0, 3, 1, 0, 4, 9}, {3, 0, 0, 5, 4, 3, 0, 0}};
}

TEST(MovedStates, EachRowMovesByAPartOfItsLengthDownItsGradient) {
    FirstValueIsTheLabel member;
    const StateShard batch = two_sequences();
    const auto moved = move_states(member, 5, batch, batch.tokens, {0.1, 1});
    ASSERT_TRUE(moved.has_value());
    // Row 0 has its label already, and so has row 2; row 1 is 5 long, row 3 has no length.
    const std::vector<float> wanted{3, 0, 0.5F, 5, 4, 3, 0, 0};
    EXPECT_EQ(moved->rows, wanted);
    EXPECT_NEAR(moved->before, (1.0 + 81) / 2 / 4, 1e-9);
    EXPECT_NEAR(moved->after, (0.25 + 81) / 2 / 4, 1e-6);
}

TEST(MovedStates, RoundsAddUpAndKeepTheLengthOfTheFirst) {
    FirstValueIsTheLabel member;
    const StateShard batch = two_sequences();
    const auto moved = move_states(member, 5, batch, batch.tokens, {0.05, 2});
    ASSERT_TRUE(moved.has_value());
    EXPECT_FLOAT_EQ(moved->rows[2], 0.5F);
}

TEST(MovedStates, LabelsSayWhereToAndTheTextsTokensWhatItIsWorth) {
    FirstValueIsTheLabel member;
    const StateShard batch = two_sequences();
    std::vector<TokenId> labels = batch.tokens;
    labels[1] = 0;  // row 0 is at 3
    const auto moved = move_states(member, 5, batch, labels, {0.1, 1});
    ASSERT_TRUE(moved.has_value());
    EXPECT_FLOAT_EQ(moved->rows[0], 2.7F);
    EXPECT_GT(moved->after - moved->before, -0.1);
    EXPECT_NEAR(moved->after, (0.09 + 0.25 + 81) / 2 / 4, 1e-5);
}

TEST(DrawToken, DrawsByTheLogits) {
    const std::vector<float> logits{
        std::log(1.0F), std::log(2.0F), -std::numeric_limits<float>::max(), std::log(5.0F)};
    EXPECT_EQ(draw_token(logits, 0), 0U);
    EXPECT_EQ(draw_token(logits, 0.124), 0U);
    EXPECT_EQ(draw_token(logits, 0.126), 1U);
    EXPECT_EQ(draw_token(logits, 0.374), 1U);
    EXPECT_EQ(draw_token(logits, 0.376), 3U);
    EXPECT_EQ(draw_token(logits, std::nextafter(1.0, 0.0)), 3U);
}

TEST(SequencesOf, CutsTokensAndRows) {
    const StateShard second = sequences_of(two_sequences(), 1, 1);
    EXPECT_EQ(second, (StateShard{2, 2, {0, 4, 9}, {4, 3, 0, 0}}));
}

}  // namespace
}  // namespace stacking::composition
