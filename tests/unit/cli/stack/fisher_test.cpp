#include "swarm/cli/stack/fisher.hpp"

#include "tests/unit/stacking_llama/random_llama.hpp"

#include <gtest/gtest.h>

namespace swarm::cli {
namespace {

using stacking::llama::test::Head;
using stacking::llama::test::random_llama;
using stacking::models::Architecture;

constexpr std::uint32_t kTrainableVocabulary = 256;

Architecture small_llama(Head head) {
    Architecture architecture = random_llama(head).architecture();
    architecture.model.vocabulary = kTrainableVocabulary;
    return architecture;
}

TEST(FisherRun, HasTheWindowsAsMicrobatchesOfOneStage) {
    const auto shorter = fisher_run("a", small_llama(Head::Own));
    ASSERT_TRUE(shorter.has_value()) << shorter.error().detail;
    EXPECT_EQ(shorter->model.context, stacking::llama::test::kContext);
    EXPECT_EQ(shorter->stages, 1U);
    EXPECT_EQ(shorter->batch, 1U);
    EXPECT_EQ(shorter->microbatches, 1U);
    Architecture longer = small_llama(Head::Tied);
    longer.model.context = 4096;
    const auto config = fisher_run("a", longer);
    ASSERT_TRUE(config.has_value()) << config.error().detail;
    EXPECT_EQ(config->model.context, kFisherWindow);
    EXPECT_TRUE(config->model.tied_embeddings);
}

TEST(FisherRun, AFamilyThatIsNotTrainedIsRefusedWithTheMembersName) {
    Architecture gemma = small_llama(Head::Tied);
    gemma.traits.family = "gemma";
    const auto refused = fisher_run("models/small", gemma);
    ASSERT_TRUE(refused.has_error());
    EXPECT_EQ(refused.error().code, ErrorCode::Unsupported);
    EXPECT_TRUE(refused.error().detail.starts_with("models/small: a model of the family gemma"))
        << refused.error().detail;
    EXPECT_EQ(refused.error().detail.find('\n'), std::string::npos);
}

TEST(FisherMemory, IsThatOfAllDiagonalsAndOfTheMemberThatIsMeasured) {
    constexpr std::uint64_t kMebibyte = 1 << 20;
    const auto config = *fisher_run("a", small_llama(Head::Own));
    const auto tied = *fisher_run("a", small_llama(Head::Tied));
    std::uint64_t values = 0;
    for (const auto& tensor : tensors_of(small_llama(Head::Own))) {
        values += tensor.elements();
    }
    const std::uint64_t needed = 4 * values * 3 + 16 * values;
    EXPECT_TRUE(check_fisher_memory(3, config, needed).has_value());
    const auto refused = check_fisher_memory(3, config, needed - 1);
    ASSERT_TRUE(refused.has_error());
    EXPECT_EQ(refused.error().code, ErrorCode::Mismatch);
    EXPECT_EQ(refused.error().reaction, Reaction::Reject);
    const std::string rounded = std::to_string((needed + kMebibyte - 1) / kMebibyte);
    EXPECT_TRUE(refused.error().detail.starts_with(
        "the Fisher information of 3 models needs " + rounded + " MiB"
    )) << refused.error().detail;
    const std::uint64_t matrix =
        std::uint64_t{kTrainableVocabulary} * stacking::llama::test::kWidth;
    EXPECT_TRUE(check_fisher_memory(3, tied, needed - 3 * 4 * matrix).has_value());
    EXPECT_TRUE(check_fisher_memory(3, tied, needed - 3 * 4 * matrix - 1).has_error());
}

}  // namespace
}  // namespace swarm::cli
