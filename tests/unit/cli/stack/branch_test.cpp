#include "swarm/cli/stack/branch.hpp"

#include "swarm/cli/stack/clustered_documents.hpp"
#include "swarm/cli/stack/clusters.hpp"
#include "swarm/cli/stack/member_files.hpp"
#include "swarm/cli/stack/stack.hpp"
#include "tests/unit/cli/parsed_words.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace swarm::cli {
namespace {

using test::options_of;
using test::Words;

TEST(BranchFlags, TakeAModelAndSources) {
    const auto options = options_of<StackBranchOptions>(
        {"stack",
         "branch",
         "runs/base",
         "--sources",
         "a.txt",
         "b.txt",
         "-o",
         "members",
         "--freeze",
         "embed,head",
         "--set",
         "run.steps=40"}
    );
    EXPECT_EQ(options.model, "runs/base");
    EXPECT_EQ(options.branch.sources, (Words{"a.txt", "b.txt"}));
    EXPECT_EQ(options.branch.folder, "members");
    EXPECT_EQ(options.branch.freeze, (Words{"embed", "head"}));
    ASSERT_EQ(options.branch.settings.size(), 1U);
    EXPECT_EQ(options.branch.settings[0].first, "run.steps");
    EXPECT_FALSE(options.branch.deal);
    EXPECT_FALSE(options.branch.fresh);
    const auto fresh = options_of<StackBranchOptions>(
        {"stack", "branch", "base", "--sources", "a.txt", "-o", "members", "--fresh", "--seed", "7"}
    );
    EXPECT_TRUE(fresh.branch.fresh);
    EXPECT_EQ(fresh.branch.seed, 7U);
    const auto grown = options_of<StackGrowOptions>(
        {"stack", "grow", "two.toml", "--sources", "c.txt", "-o", "more", "--deal"}
    );
    EXPECT_EQ(grown.file, "two.toml");
    EXPECT_TRUE(grown.branch.deal);
    const auto removed = options_of<StackRemoveOptions>({"stack", "remove", "two.toml", "runs/a"});
    EXPECT_EQ(removed.member, "runs/a");
}

TEST(MemberName, IsThatOfTheSourceAsARunMayHaveIt) {
    EXPECT_EQ(member_name("texts/austen.txt"), "austen");
    EXPECT_EQ(member_name("data/medicine/"), "medicine");
    EXPECT_EQ(member_name("Ä b.c.txt"), "---b-c");
    EXPECT_EQ(member_name(".txt"), "-txt");
    EXPECT_EQ(member_name(std::string(300, 'x')).size(), 48U);
}

TEST(RunFileText, HasTheKeysThatDifferFromTheirDefaults) {
    run::RunConfig config;
    config.name = "austen";
    config.init = "base \"x\"";
    config.train.freeze = {"embed", "head"};
    const std::string text = run_file_text(config, "A member.");
    EXPECT_TRUE(text.starts_with("# A member.\n\n[run]\nname = ")) << text;
    EXPECT_EQ(text.find("optimizer"), std::string::npos) << text;
    const auto read = run::parse_run(text, "member");
    ASSERT_TRUE(read) << read.error().detail;
    EXPECT_EQ(run::to_toml(*read), run::to_toml(config));
}

std::vector<std::string> paragraphs(const std::string& text) {
    std::vector<std::string> found;
    std::size_t begin = 0;
    while (begin < text.size()) {
        std::size_t end = text.find("\n\n", begin);
        end = end == std::string::npos ? text.size() : end;
        std::string one = text.substr(begin, end - begin);
        while (!one.empty() && one.back() == '\n') {
            one.pop_back();
        }
        found.push_back(one);
        begin = std::min(text.size(), end + 2);
    }
    return found;
}

TEST(DealParagraphs, GivesEachParagraphToOneMember) {
    std::vector<std::string> texts(2);
    std::multiset<std::string> all;
    for (int i = 0; i < 200; ++i) {
        const std::string one = "paragraph " + std::to_string(i) + "\nof two lines";
        texts[i % 2] += one + (i > 197 ? "" : "\n\n");
        all.insert(one);
    }
    const auto dealt = deal_paragraphs(texts, 3, 5);
    ASSERT_EQ(dealt.size(), 3U);
    std::multiset<std::string> found;
    for (const std::string& text : dealt) {
        const auto own = paragraphs(text);
        EXPECT_GT(own.size(), 40U);
        found.insert(own.begin(), own.end());
    }
    EXPECT_EQ(found, all);
    EXPECT_EQ(dealt, deal_paragraphs(texts, 3, 5));
    EXPECT_NE(dealt, deal_paragraphs(texts, 3, 6));
}

TEST(DocumentParts, EndAtBlankLinesOnceTheyAreLong) {
    const std::string line(900, 'x');
    const std::string text = line + "\n\n" + line + "\n\n\n" + line + "\n\n" + line + "\n";
    std::vector<std::string> parts;
    each_part(text, [&](std::string_view part) { parts.emplace_back(part); });
    ASSERT_EQ(parts.size(), 2U);
    EXPECT_EQ(parts[0], line + "\n\n" + line + "\n\n\n" + line + "\n\n");
    EXPECT_EQ(parts[1], line + "\n");
    parts.clear();
    each_part("\n \n\n", [&](std::string_view part) { parts.emplace_back(part); });
    EXPECT_TRUE(parts.empty());
}

TEST(ClusterFlags, TakeFilesAndANumber) {
    const auto options = options_of<StackClustersOptions>(
        {"stack", "clusters", "a.txt", "b.jsonl", "-k", "4", "-o", "groups"}
    );
    EXPECT_EQ(options.paths, (Words{"a.txt", "b.jsonl"}));
    EXPECT_EQ(options.clusters, 4U);
    const auto stack = options_of<StackNewOptions>(
        {"stack", "new", "s.toml", "--member", "a", "--clusters", "c.json", "--experts", "2"}
    );
    EXPECT_EQ(stack.clusters, "c.json");
    EXPECT_EQ(stack.experts, 2U);
}

TEST(DealParagraphs, TakesTextsWithoutBlankLines) {
    const auto dealt = deal_paragraphs({"", "\n\n\n", "one line", "another"}, 1, 1);
    EXPECT_EQ(dealt[0], "\n\n\none line\n\nanother");
}

}  // namespace
}  // namespace swarm::cli
