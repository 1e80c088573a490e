// Runs `swarm stack branch` and `grow` like a person: members that begin as copies of a model or of
// an average, and those that have its ends alone.
#include "tests/process/averages/averages_bed.hpp"

#include <algorithm>

namespace swarm::test {
namespace {

namespace fs = std::filesystem;

class BranchesTest : public AveragesBed {};

/// They have the embedding and the head of their seed, before the training and after it.
TEST_F(BranchesTest, FreshMembersShareTheEndsOfTheirSeed) {
    const auto branch = [&](const std::string& to, std::vector<std::string> more) {
        std::vector<std::string> words{
            "stack", "branch", file("base"), "--sources", file("a.txt"), file("b.txt"), "--fresh"};
        words.insert(words.end(), {"-o", file(to), "--set", "model.context=32"});
        words.insert(words.end(), more.begin(), more.end());
        return run(words);
    };
    ASSERT_EQ(branch("members", {"--set", "run.steps=5"}), 0) << err;
    EXPECT_EQ(count_lines(out), 3U) << out;
    EXPECT_NE(read_text(file("members/a.toml")).find("init = \"a-fresh\""), std::string::npos);
    const auto weights = [&](const std::string& member) {
        return read_text(file(member + "/model.safetensors"));
    };
    EXPECT_NE(weights("members/a-fresh"), weights("members/b-fresh"));
    ASSERT_EQ(branch("again", {"--freeze", "head"}), 0) << err;
    expect_same_folder("members/a-fresh", "again/a-fresh");
    expect_same_folder("members/b-fresh", "again/b-fresh");
    ASSERT_EQ(branch("others", {"--seed", "2"}), 0) << err;
    EXPECT_EQ(weights("others/a-fresh"), weights("members/b-fresh")) << "the next has one more";
    expect_refused(
        {"stack",
         "branch",
         file("base"),
         "--sources",
         file("a.txt"),
         "--fresh",
         "-o",
         file("out"),
         "--set",
         "run.seed=3"},
        "--set run.seed",
        "--seed"
    );
    constexpr std::size_t kMatrixBytes = 256UL * 32 * sizeof(float);
    const auto file_of = [&](const std::string& name, const std::string& end) {
        std::vector<fs::path> found;
        for (const auto& entry : fs::directory_iterator(file(name))) {
            if (entry.path().filename().string().starts_with("checkpoint-")) {
                found.push_back(entry.path());
            }
        }
        EXPECT_FALSE(found.empty()) << name;
        const fs::path newest = found.empty() ? fs::path() : *std::ranges::max_element(found);
        return read_text(newest / (end + ".safetensors"));
    };
    for (const char* const name : {"a", "b"}) {
        const std::string run_file = file("members/" + std::string(name) + ".toml");
        const std::string trained = std::string("m") + name;
        ASSERT_EQ(run({"train", "--single", run_file, "--dir", file(trained)}), 0) << err;
        EXPECT_TRUE(file_of(trained, "embed") == file_of("base", "embed"));
        // The final norm, which is before the head in its file, is trained.
        const std::string head = file_of(trained, "head");
        EXPECT_FALSE(head == file_of("base", "head"));
        EXPECT_TRUE(head.ends_with(file_of("base", "head").substr(head.size() - kMatrixBytes)));
        EXPECT_FALSE(file_of(trained, "layers.0") == file_of("base", "layers.0"));
    }
    // A chain of them needs no bridge, and the second one may leave out its first layer.
    const std::string chain = file("chain.toml");
    ASSERT_EQ(run({"stack", "new", chain, "--mode", "chain", "--member", file("ma")}), 0) << err;
    ASSERT_EQ(run({"stack", "add", chain, file("mb") + "@1-1"}), 0) << err;
    const int measured = run({"stack", "measure", chain, "--text", file("held.txt")});
    EXPECT_TRUE(measured == 0 || measured == kRefused) << err;
    EXPECT_NE(out.find("  the stack\n"), std::string::npos) << out;
}

/// A chain of parts has no average, and its fresh member needs none.
TEST_F(BranchesTest, AFreshMemberGrowsUnderTheEndsOfAStack) {
    const std::string chain = file("chain.toml");
    ASSERT_EQ(run({"stack", "new", chain, "--mode", "chain", "--member", file("a")}), 0) << err;
    ASSERT_EQ(run({"stack", "add", chain, file("a") + "@1-1"}), 0) << err;
    const auto grow = [&](const std::string& stack, const std::string& to) {
        return std::vector<std::string>{
            "stack",
            "grow",
            file(stack),
            "--sources",
            file("b.txt"),
            "--set",
            "model.context=32",
            "--set",
            "run.steps=5",
            "-o",
            file(to)};
    };
    expect_refused(grow("chain.toml", "out"), "is a part of a model", "--fresh");
    auto fresh = grow("chain.toml", "more");
    fresh.emplace_back("--fresh");
    ASSERT_EQ(run(fresh), 0) << err;
    EXPECT_FALSE(fs::exists(file("more/seed"))) << "the ends are in the member's own folder";
    const std::string run_file = read_text(file("more/b.toml"));
    EXPECT_NE(run_file.find("init = \"b-fresh\""), std::string::npos) << run_file;
    EXPECT_NE(run_file.find("seed = 3"), std::string::npos) << "others have the first two";
    EXPECT_NE(run_file.find("freeze = [ \"embed\", \"head\" ]"), std::string::npos) << run_file;
    // The same layers as a member that is branched with this seed.
    ASSERT_EQ(
        run(
            {"stack",
             "branch",
             file("a"),
             "--sources",
             file("b.txt"),
             "--fresh",
             "--seed",
             "3",
             "-o",
             file("branched")}
        ),
        0
    ) << err;
    expect_same_folder("branched/b-fresh", "more/b-fresh");
    ASSERT_EQ(run({"train", "--single", file("more/b.toml"), "--dir", file("c")}), 0) << err;
    ASSERT_EQ(run({"stack", "add", chain, file("c")}), 0) << err;
    const int measured = run({"stack", "measure", chain, "--text", file("held.txt")});
    EXPECT_TRUE(measured == 0 || measured == kRefused) << err;
    // Members whose ends were trained share none.
    ASSERT_EQ(
        run({"stack", "new", file("two.toml"), "--member", file("a"), "--member", file("b")}), 0
    ) << err;
    auto unlike = grow("two.toml", "out");
    unlike.emplace_back("--fresh");
    expect_refused(unlike, "of " + file("a") + " is not that of " + file("b"), "embed,head");
}

TEST_F(BranchesTest, MembersBranchFromOneModelAndGrow) {
    ASSERT_EQ(
        run(
            {"stack",
             "branch",
             file("base"),
             "--sources",
             file("a.txt"),
             file("b.txt"),
             "-o",
             file("members"),
             "--freeze",
             "embed,head",
             "--set",
             "run.steps=5",
             "--set",
             "model.context=32"}
        ),
        0
    ) << err;
    EXPECT_EQ(count_lines(out), 3U) << out;
    for (const char* const name : {"a", "b"}) {
        const std::string run_file = file("members/" + std::string(name) + ".toml");
        ASSERT_EQ(run({"train", "--single", run_file, "--dir", file("m") + name}), 0) << err;
    }
    const std::string stack = file("two.toml");
    ASSERT_EQ(run({"stack", "new", stack, "--member", file("ma"), "--member", file("mb")}), 0)
        << err;
    ASSERT_EQ(
        run(
            {"stack",
             "grow",
             stack,
             "--sources",
             file("held.txt"),
             "-o",
             file("more"),
             "--set",
             "run.steps=2",
             "--set",
             "model.context=32"}
        ),
        0
    ) << err;
    ASSERT_EQ(average({file("ma"), file("mb"), "-o", file("both")}), 0) << err;
    expect_same_folder("both", "more/seed");
    ASSERT_EQ(run({"train", "--single", file("more/held.toml"), "--dir", file("mc")}), 0) << err;
    ASSERT_EQ(run({"stack", "add", stack, file("mc")}), 0) << err;
    EXPECT_EQ(run({"stack", "remove", stack, "none"}), kRefused);
    EXPECT_NE(err.find("has no member none"), std::string::npos) << err;
    ASSERT_EQ(run({"stack", "remove", stack, file("ma")}), 0) << err;
    ASSERT_EQ(run({"stack", "show", stack}), 0) << err;
    EXPECT_EQ(out.find(file("ma")), std::string::npos) << out;
    EXPECT_NE(out.find(file("mc")), std::string::npos) << out;
}

TEST_F(BranchesTest, WhatCannotBranchIsOneLine) {
    const std::string base = file("base");
    const auto refused = [&](std::vector<std::string> more, const std::string& what) {
        more.insert(more.begin(), {"stack", "branch"});
        more.insert(more.end(), {"-o", file("out")});
        expect_refused(more, what, "");
    };
    refused({base, "--sources", file("none.txt")}, "none.txt is not there");
    refused({base, "--sources", file("base.toml")}, "swarm data build");
    refused({file("none"), "--sources", file("a.txt")}, "none");
    fs::create_directories(file("other"));
    write("other/a.txt", "text");
    refused({base, "--sources", file("a.txt"), file("other/a.txt")}, "of the name a");
    refused({base, "--sources", file("a.txt"), "--freeze", "tail"}, "train.freeze");
    refused({base, "--sources", file("a.txt"), "--set", "run.stages=9"}, "run.stages");
    refused({base, "--sources", file("other"), "--deal"}, "is a folder");
    ASSERT_EQ(
        run(
            {"stack",
             "branch",
             base,
             "--sources",
             file("a.txt"),
             file("b.txt"),
             "--deal",
             "-o",
             file("out")}
        ),
        0
    ) << err;
    EXPECT_GT(
        fs::file_size(file("out/dealt-1.txt")) + fs::file_size(file("out/dealt-2.txt")), 39'000U
    );
}

}  // namespace
}  // namespace swarm::test
