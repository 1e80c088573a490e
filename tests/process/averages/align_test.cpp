// Runs `swarm stack states`, `targets` and `align` as the hosts of two members would.
#include "tests/process/averages/averages_bed.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

namespace swarm::test {
namespace {

class AlignTest : public AveragesBed {
 protected:
    void SetUp() override {
        AveragesBed::SetUp();
        ASSERT_EQ(states("a", "states"), 0) << err;
    }

    int states(const std::string& model, const std::string& to) {
        return run(
            {"stack",
             "states",
             file(model),
             "--text",
             file("words.txt"),
             "--tokens",
             "4096",
             "--window",
             "32",
             "-o",
             file(to)}
        );
    }

    int targets(const std::string& to, const std::vector<std::string>& more = {}) {
        std::vector<std::string> asked{
            "stack", "targets", file("b"), file("states"), "-o", file(to)};
        asked.insert(asked.end(), more.begin(), more.end());
        return run(asked);
    }

    /// The number behind the last `words` in the output.
    double number_behind(const std::string& words) const {
        const std::size_t at = out.rfind(words);
        EXPECT_NE(at, std::string::npos) << out;
        return at == std::string::npos ? 0 : std::strtod(out.c_str() + at + words.size(), nullptr);
    }
};

TEST_F(AlignTest, AMemberComesCloserToWhatTheNextOneWants) {
    EXPECT_NE(out.find("120 sequences of 32 tokens"), std::string::npos) << out;
    ASSERT_EQ(targets("targets", {"--step", "0.3", "--labels", "text"}), 0) << err;
    // The text's own tokens say more than drawn ones.
    EXPECT_GT(number_behind("lower its loss by "), number_behind("by drawn ones by "));
    const std::vector<std::string> align{
        "stack",
        "align",
        file("a"),
        file("targets"),
        "--steps",
        "60",
        "--weight",
        "30",
        "--learning-rate",
        "0.003",
        "-o"};
    auto asked = align;
    asked.push_back(file("aligned"));
    ASSERT_EQ(run(asked), 0) << err;
    ASSERT_NE(out.find("held out, after"), std::string::npos) << out;
    const double distance = number_behind("distance ");
    out.resize(out.find("step 10"));
    EXPECT_LT(distance, 0.9 * number_behind("distance "));
    EXPECT_NE(loss_of(file("aligned")), loss_of(file("a")));
    // The same command writes the same model.
    asked = align;
    asked.push_back(file("again"));
    ASSERT_EQ(run(asked), 0) << err;
    expect_same_folder("aligned", "again");
}

TEST_F(AlignTest, AnEndedCommandGoesOn) {
    ASSERT_EQ(targets("targets"), 0) << err;
    std::filesystem::create_directory(file("begun"));
    for (const char* const name : {"settings.txt", "shard-000000.safetensors"}) {
        std::filesystem::copy(file("targets/" + std::string(name)), file("begun"));
    }
    expect_refused(
        {"stack", "targets", file("b"), file("states"), "--step", "0.1", "-o", file("begun")},
        "begun",
        "other settings"
    );
    EXPECT_EQ(run({"stack", "align", file("a"), file("begun"), "-o", file("out")}), kRefused);
    EXPECT_NE(err.find("has no manifest.json"), std::string::npos) << err;
    ASSERT_EQ(targets("begun"), 0) << err;
    expect_same_folder("targets", "begun");
    EXPECT_EQ(targets("begun"), kRefused);
    EXPECT_NE(err.find("is whole already"), std::string::npos) << err;
}

TEST_F(AlignTest, WhatDoesNotFitIsRefused) {
    train("wide", "", 2, "words.txt", "layers = 2\nwidth = 48\n");
    const auto aligned = [&](const std::string& model, const std::string& from) {
        return std::vector<std::string>{
            "stack", "align", file(model), file(from), "-o", file("out")};
    };
    expect_refused(
        {"stack", "targets", file("wide"), file("states"), "-o", file("out")}, "32 values", "48"
    );
    expect_refused(aligned("a", "states"), "states", "other kind");
    ASSERT_EQ(targets("targets"), 0) << err;
    expect_refused(aligned("wide", "targets"), "targets", "another width");
    std::ofstream(file("targets/shard-000001.safetensors")) << "cut";
    expect_refused(aligned("a", "targets"), "shard-000001", "no file of states");
    write("short.txt", "it is a");
    expect_refused(
        {"stack", "states", file("a"), "--text", file("short.txt"), "-o", file("out")},
        "0 sequences",
        "16 are the least"
    );
}

}  // namespace
}  // namespace swarm::test
