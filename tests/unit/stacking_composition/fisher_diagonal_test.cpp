#include "stacking/composition/fisher_diagonal.hpp"

#include "swarm/base/token_flags.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <utility>

namespace stacking::composition {
namespace {

using swarm::ErrorCode;
using swarm::kNoLossFlag;
using Tokens = std::vector<std::uint32_t>;

constexpr std::uint32_t kPad = kNoLossFlag;  // token 0, which is no target

/// Tokens of the windows that count for a loss, in order.
Tokens targets_of(const std::vector<FisherWindow>& windows) {
    Tokens targets;
    for (const FisherWindow& window : windows) {
        std::uint32_t counted = 0;
        for (std::size_t i = 1; i < window.tokens.size(); ++i) {
            if (swarm::counts_for_loss(window.tokens[i])) {
                targets.push_back(window.tokens[i]);
                ++counted;
            }
        }
        EXPECT_EQ(counted, window.targets);
        EXPECT_GT(counted, 0U);
    }
    return targets;
}

TEST(FisherWindows, HaveEachTokenButTheFirstAsATargetOnce) {
    const std::vector<Tokens> texts{{1, 2, 3, 4, 5, 6}, {7, 8}, {9}};
    const auto windows = fisher_windows(texts, {}, 3);
    ASSERT_EQ(windows.size(), 3U);
    EXPECT_EQ(windows[0].tokens, (Tokens{1, 2, 3, 4}));
    EXPECT_EQ(windows[1].tokens, (Tokens{4, 5, 6, kPad}));
    EXPECT_EQ(windows[2].tokens, (Tokens{7, 8, kPad, kPad}));
    EXPECT_EQ(targets_of(windows), (Tokens{2, 3, 4, 5, 6, 8}));
}

TEST(FisherWindows, BeginWithTheTokensThatStandBeforeATextAndHaveAllOthersAsTargets) {
    const std::vector<Tokens> texts{{1, 2, 3, 4, 5}, {6}};
    const Tokens before{90, 91};
    const auto windows = fisher_windows(texts, before, 3);
    ASSERT_EQ(windows.size(), 4U);
    EXPECT_EQ(windows[0].tokens, (Tokens{90, 91 | kNoLossFlag, 1, 2}));
    EXPECT_EQ(windows[2].tokens, (Tokens{90, 91 | kNoLossFlag, 5, kPad}));
    EXPECT_EQ(targets_of(windows), (Tokens{1, 2, 3, 4, 5, 6}));
    EXPECT_EQ(targets_of(fisher_windows(texts, Tokens{90}, 1)), (Tokens{1, 2, 3, 4, 5, 6}));
}

/// Its gradients are given; the loss of a window is its first token.
class GivenGradients final : public stages::StageCompute {
 public:
    explicit GivenGradients(std::vector<std::vector<float>> gradients)
        : gradients_(std::move(gradients)) {}

    void use_weights(std::span<const float>) override {}

    stages::Result<TailOutput> forward_tail(
        const stages::StageTensor*, std::span<const std::uint32_t> tokens, std::span<float> gradient
    ) override {
        if (next_ == gradients_.size()) {
            return swarm::Error{ErrorCode::NotFinite, swarm::Reaction::Reject, "lower the rate"};
        }
        std::ranges::copy(gradients_[next_++], gradient.begin());
        return TailOutput{static_cast<double>(tokens.front()), {}};
    }

    stages::Result<stages::StageTensor> forward(
        stages::GraphKey, const stages::StageTensor*, std::span<const std::uint32_t>, stages::Graph
    ) override {
        return stages::StageTensor{};
    }

    stages::Result<double> tail_loss(const stages::StageTensor*, std::span<const std::uint32_t>)
        override {
        return 0.0;
    }

    stages::Result<stages::StageTensor>
    backward(stages::GraphKey, const stages::StageTensor&, std::span<float>) override {
        return stages::StageTensor{};
    }

    void drop(stages::GraphKey) override {}

    void drop_all() override {}

    [[nodiscard]] std::uint64_t graph_bytes() const override { return 0; }

    stages::Result<stages::StageTensor>
    infer(const stages::StageTensor*, std::span<const std::uint32_t>) override {
        return stages::StageTensor{};
    }

    [[nodiscard]] std::string compute_class() const override { return "given"; }

 private:
    std::vector<std::vector<float>> gradients_;
    std::size_t next_ = 0;
};

/// A vocabulary of 2, width 1, and a norm.
swarm::run::StageLayout small_layout() {
    swarm::run::StageLayout layout;
    layout.tensors = {
        {swarm::run::kEmbeddingTensor, {2, 1}},
        {"head.norm", {1}},
        {swarm::run::kHeadTensor, {2, 1}}};
    return layout;
}

/// A whole window with the loss 6, and one with a target in two, whose loss is 9.
std::vector<FisherWindow> two_windows() {
    return {{{6, 1, 1}, 2}, {{9, 1, kPad}, 1}};
}

TEST(FisherDiagonal, IsTheMeanSquareOfTheGradients) {
    GivenGradients compute({{1, -2, 3, 0, 4}, {0, 4, -8, 2, 0}});
    std::vector<std::size_t> told;
    const auto found = fisher_diagonal(
        compute,
        small_layout(),
        HeadMatrix::Own,
        two_windows(),
        [&](std::size_t done) { told.push_back(done); }
    );
    ASSERT_TRUE(found.has_value()) << found.error().detail;
    // The second gradient counts half, because half of its positions have a target.
    EXPECT_EQ(found->values, (std::vector<float>{0.5F, 4, 12.5F, 0.5F, 8}));
    EXPECT_EQ(found->loss, 7) << "the mean over three targets";
    EXPECT_EQ(told, (std::vector<std::size_t>{1, 2}));
    EXPECT_EQ(fisher_tensors(small_layout(), HeadMatrix::Own), small_layout().tensors);
}

TEST(FisherDiagonal, TheUsesOfATiedMatrixAddUpBeforeTheSquare) {
    GivenGradients compute({{1, -2, 3, 0, 4}, {0, 4, -8, 2, 0}});
    const auto found = fisher_diagonal(
        compute, small_layout(), HeadMatrix::Tied, two_windows(), [](std::size_t) {}
    );
    ASSERT_TRUE(found.has_value()) << found.error().detail;
    EXPECT_EQ(found->values, (std::vector<float>{1, 4, 12.5F}));
    EXPECT_EQ(fisher_tensors(small_layout(), HeadMatrix::Tied).size(), 2U);
}

TEST(FisherDiagonal, NumbersBeyondFp32AreAnError) {
    const float large = std::numeric_limits<float>::max();
    const float nan = std::numeric_limits<float>::quiet_NaN();
    for (const float bad : {large, nan}) {
        GivenGradients compute({{0, 0, bad, 0, 0}, {0, 0, 0, 0, 0}});
        const auto found = fisher_diagonal(
            compute, small_layout(), HeadMatrix::Own, two_windows(), [](std::size_t) {}
        );
        ASSERT_TRUE(found.has_error()) << bad;
        EXPECT_EQ(found.error().code, ErrorCode::NotFinite);
    }
    GivenGradients without_loss({{0, 0, 0, 0, 0}});
    const auto found = fisher_diagonal(
        without_loss, small_layout(), HeadMatrix::Own, two_windows(), [](std::size_t) {}
    );
    ASSERT_TRUE(found.has_error());
    EXPECT_EQ(found.error().detail, "its loss is no number") << "and no word about training";
}

}  // namespace
}  // namespace stacking::composition
