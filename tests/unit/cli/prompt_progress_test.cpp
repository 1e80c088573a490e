#include "swarm/cli/answer/prompt_progress.hpp"

#include <gtest/gtest.h>

namespace swarm::cli {
namespace {

TEST(PromptProgress, AShortPromptShowsNothing) {
    PromptProgress progress(ShownOn::Terminal, 100);
    EXPECT_EQ(progress.line(256, 300, 100.9), std::nullopt);
}

TEST(PromptProgress, ALongOneIsShownAgainAndAgainOnATerminal) {
    PromptProgress progress(ShownOn::Terminal, 100);
    EXPECT_EQ(progress.line(256, 7500, 101), "prompt: 256 of 7500 tokens read");
    EXPECT_EQ(progress.line(512, 7500, 101.1), std::nullopt);
    EXPECT_EQ(progress.line(768, 7500, 101.25), "prompt: 768 of 7500 tokens read");
}

TEST(PromptProgress, ALineComesEveryTenSecondsElsewhere) {
    PromptProgress progress(ShownOn::File, 100);
    EXPECT_EQ(progress.line(256, 7500, 109), std::nullopt);
    EXPECT_EQ(progress.line(512, 7500, 110), "prompt: 512 of 7500 tokens read");
    EXPECT_EQ(progress.line(768, 7500, 119), std::nullopt);
    EXPECT_NE(progress.line(1024, 7500, 120), std::nullopt);
}

}  // namespace
}  // namespace swarm::cli
