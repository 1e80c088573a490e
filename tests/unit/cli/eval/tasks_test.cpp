#include "swarm/cli/eval/tasks.hpp"

#include "tests/unit/cli/eval/byte_tokenizer.hpp"
#include "tests/unit/stacking_llama/random_llama.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

namespace swarm::cli {
namespace {

using stacking::TokenId;
using stacking::composition::ModelReader;
using stacking::composition::TextReader;
using test::byte_tokenizer;

/// Bytes that follow this beginning are the likelier, the nearer they are to `liked`.
class OpinionatedReader final : public TextReader {
 public:
    OpinionatedReader(std::string beginning, std::string liked)
        : beginning_(std::move(beginning)), liked_(std::move(liked)) {}

    [[nodiscard]] std::uint32_t vocabulary() const override { return 256; }

    [[nodiscard]] std::uint32_t context() const override { return 64; }

    Result<> begin(std::uint32_t tokens) override {
        EXPECT_LE(tokens, context());
        text_.clear();
        return {};
    }

    Result<std::uint32_t> resume(std::uint32_t kept, std::uint32_t /*tokens*/) override {
        EXPECT_LE(kept, text_.size());
        text_.resize(kept);
        resumed += kept;
        return kept;
    }

    Result<std::vector<float>> read(std::span<const TokenId> tokens, Wanted wanted) override {
        std::vector<float> scores;
        for (std::size_t i = 0; i < tokens.size(); ++i) {
            text_.push_back(static_cast<char>(tokens[i]));
            if (wanted == Wanted::AfterEach || i + 1 == tokens.size()) {
                std::vector<float> row(256, 0);
                row[next()] = 3;
                scores.insert(scores.end(), row.begin(), row.end());
            }
        }
        return scores;
    }

    std::size_t resumed = 0;

 private:
    [[nodiscard]] std::size_t next() const {
        const std::string whole = beginning_ + liked_;
        const bool follows = text_.size() < whole.size() && whole.starts_with(text_);
        return follows ? static_cast<unsigned char>(whole[text_.size()]) : 0;
    }

    std::string beginning_;
    std::string liked_;
    std::string text_;
};

constexpr TaskItem kItems[] = {{"1 and 1 make", " two"}, {"1 and 2 make", " three"}};
constexpr LikelihoodTask kSums{"sums", 2, kItems};

TEST(Tasks, AnItemIsRightWhenItsEndingIsTheLikeliestPerByte) {
    const auto tokenizer = byte_tokenizer();
    for (const bool likes_right : {true, false}) {
        OpinionatedReader reader("1 and 1 make", likes_right ? " two" : " three");
        TaskScorer scorer(reader, tokenizer);
        const auto right = scorer.is_right(kSums, 0);
        ASSERT_TRUE(right.has_value());
        EXPECT_EQ(*right, likes_right);
        EXPECT_EQ(reader.resumed, 11U) << "the beginning is read once, but for its last token";
    }
}

TEST(Tasks, AScoreIsTheMeanOverTheBytesOfTheEnding) {
    const auto tokenizer = byte_tokenizer();
    OpinionatedReader reader("1 and 1 make", " two");
    TaskScorer scorer(reader, tokenizer);
    const double liked = 3 - std::log(std::exp(3) + 255);
    const double other = -std::log(std::exp(3) + 255);
    EXPECT_NEAR(*scorer.score("1 and 1 make", " two"), liked, 1e-6);
    EXPECT_NEAR(*scorer.score("1 and 1 make", " three"), (2 * liked + 4 * other) / 6, 1e-6);
    EXPECT_NEAR(*scorer.score("1 and 2 make", " two"), other, 1e-6);
}

TEST(Tasks, EndingsThatAreEquallyLikelyAreNoAnswer) {
    const auto tokenizer = byte_tokenizer();
    OpinionatedReader reader("something else", "");
    TaskScorer scorer(reader, tokenizer);
    EXPECT_FALSE(*scorer.is_right(kSums, 0));
    EXPECT_FALSE(*scorer.is_right(kSums, 1));
}

TEST(Tasks, AnItemThatIsLongerThanTheContextIsRefused) {
    const auto tokenizer = byte_tokenizer();
    OpinionatedReader reader("", "");
    TaskScorer scorer(reader, tokenizer);
    const auto score = scorer.score(std::string(60, 'x'), " long");
    ASSERT_FALSE(score.has_value());
    EXPECT_EQ(score.error().code, ErrorCode::TooLarge);
    EXPECT_TRUE(scorer.score(std::string(59, 'x'), " long").has_value());
}

/// Whatever a model thinks of the endings alone, it is right as often as guessing is: each ending
/// is right once and wrong as often as there are others.
TEST(Tasks, GroupsSwapTheirEndings) {
    for (const LikelihoodTask& task : likelihood_tasks()) {
        SCOPED_TRACE(task.name);
        ASSERT_EQ(task.items.size() % task.group, 0U);
        EXPECT_GE(task.items.size(), 24U);
        std::set<std::string_view> beginnings;
        for (std::size_t item = 0; item < task.items.size(); ++item) {
            const TaskItem& asked = task.items[item];
            EXPECT_TRUE(asked.ending.starts_with(' ')) << asked.ending;
            EXPECT_FALSE(asked.beginning.ends_with(' ')) << asked.beginning;
            EXPECT_TRUE(std::ranges::all_of(asked.beginning, [](char letter) {
                return letter >= ' ' && letter <= '~';
            })) << asked.beginning;
            EXPECT_TRUE(beginnings.insert(asked.beginning).second) << asked.beginning;
            const auto group = task.group_of(item);
            EXPECT_EQ(std::ranges::count(group, asked.ending, &TaskItem::ending), 1);
        }
    }
    EXPECT_EQ(find_task("facts")->group, 4U);
    EXPECT_EQ(find_task("piqa"), nullptr);
}

/// Random weights of a Llama that never saw a text.
TEST(Tasks, AnUntrainedModelIsAsGoodAsAGuess) {
    namespace llama = stacking::llama;
    const auto source = llama::test::random_llama(llama::test::Head::Own);
    const auto layout = split(source.architecture(), 1).front();
    auto weights = llama::load_stage(source, layout, llama::WeightChoice::as_is());
    ASSERT_TRUE(weights.has_value());
    ModelReader::Stages stages;
    stages.push_back(
        std::make_unique<llama::LlamaSessions>(std::move(*weights), llama::LlamaSessions::Options{})
    );
    const auto reader = *ModelReader::make(std::move(stages));
    const auto tokenizer = byte_tokenizer(128);
    TaskScorer scorer(*reader, tokenizer);
    for (const LikelihoodTask& task : likelihood_tasks()) {
        int right = 0;
        for (std::size_t item = 0; item < task.items.size(); ++item) {
            const auto is_right = scorer.is_right(task, item);
            ASSERT_TRUE(is_right.has_value()) << is_right.error().detail;
            right += *is_right ? 1 : 0;
        }
        const auto items = static_cast<double>(task.items.size());
        const double guessed = task.guessing() * items;
        const double deviation = std::sqrt(guessed * (1 - task.guessing()));
        EXPECT_NEAR(right, guessed, 3 * deviation) << task.name;
    }
}

}  // namespace
}  // namespace swarm::cli
