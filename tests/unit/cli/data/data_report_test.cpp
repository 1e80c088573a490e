#include "swarm/cli/data/data_report.hpp"

#include <gtest/gtest.h>

namespace swarm::cli {
namespace {

data::Manifest some_data() {
    data::Manifest manifest;
    manifest.tokenizer = "smollm2";
    manifest.vocabulary = 49'152;
    manifest.end_token = 2;
    manifest.sources.push_back({"prose", 3, 4'000, 10, 16'000, 0, {}});
    manifest.sources.push_back({"code", 1, 1'000, 2, 3'000, 7, {}});
    return manifest;
}

TEST(DataReport, HasALinePerSource) {
    const std::string text = data_text(some_data(), Digest{});
    EXPECT_NE(
        text.find("tokenizer smollm2, 49,152 tokens; token 2 ends a document\n"), std::string::npos
    ) << text;
    EXPECT_NE(text.find("\nprose"), std::string::npos) << text;
    for (const char* const cell : {" 4,000 ", " 4.0 ", " 75.0 %", " 25.0 %", " 7 "}) {
        EXPECT_NE(text.find(cell), std::string::npos) << cell << " in " << text;
    }
}

TEST(DataReport, SaysOfChatsHowManyTokensCount) {
    data::Manifest manifest = some_data();
    EXPECT_EQ(data_text(manifest, Digest{}).find("chats"), std::string::npos);
    manifest.sources[1].no_loss_tokens = 750;
    const std::string text = data_text(manifest, Digest{});
    EXPECT_NE(text.find("source code has chats: 250 of 1,000 tokens"), std::string::npos) << text;
}

TEST(DataReport, NamesThePlaceOfASample) {
    const ShownSample sample{7, "prose", {0, 2, 5, 640}, {1, 2, 3}, "abc"};
    EXPECT_EQ(
        samples_text(std::span(&sample, 1)), "sample 7: prose, epoch 2, tokens 640 to 642\nabc\n"
    );
}

TEST(DataReport, TheLineOfABuildCountsFromWhereItWentOn) {
    data::BuildProgress progress{"prose", 600'000'000, 1'000'000'000, 30'100'000, 5};
    EXPECT_EQ(
        build_line(progress, 500'000'000, 10),
        "prose: 600 of 1,000 MB, 10.0 MB/s, 30.1 M tokens, ETA 0:40"
    );
    EXPECT_EQ(
        build_line(progress, 600'000'000, 0), "prose: 600 of 1,000 MB, 0.0 MB/s, 30.1 M tokens"
    );
}

}  // namespace
}  // namespace swarm::cli
