#include "swarm/cli/eval/eval.hpp"
#include "swarm/cli/terminal/exit_code.hpp"
#include "tests/unit/cli/parsed_words.hpp"

#include <gtest/gtest.h>

namespace swarm::cli {
namespace {

using test::exit_of;
using test::joined;
using test::options_of;
using test::Words;

TEST(EvalFlags, TakeTextsAndTasks) {
    const auto plain = options_of<EvalOptions>({"eval", "smollm2", "--text", "a.txt"});
    EXPECT_EQ(plain.model, "smollm2");
    EXPECT_EQ(plain.texts, Words{"a.txt"});
    EXPECT_TRUE(plain.tasks.empty());
    EXPECT_EQ(plain.context, std::nullopt);
    EXPECT_EQ(plain.stride, std::nullopt);
    EXPECT_EQ(plain.weights, "as-is");
    EXPECT_EQ(plain.stages, 1U);
    EXPECT_TRUE(plain.path.empty());
    const auto full = options_of<EvalOptions>(
        {"eval",      "smollm2", "--text",   "a", "--text",    "b",    "--tasks", "copy,facts",
         "--context", "64",      "--stride", "8", "--weights", "int8", "--json",  "o.json",
         "--threads", "2"}
    );
    EXPECT_EQ(full.texts, (Words{"a", "b"}));
    EXPECT_EQ(full.tasks, (Words{"copy", "facts"}));
    EXPECT_EQ(full.context, 64U);
    EXPECT_EQ(full.stride, 8U);
    EXPECT_EQ(full.weights, "int8");
    EXPECT_EQ(full.threads, 2U);
    EXPECT_EQ(full.json_file, "o.json");
    const auto last = options_of<EvalOptions>({"eval", "--text", "a", "--tasks", "all", "m"});
    EXPECT_EQ(last.tasks, Words{"all"});
    EXPECT_EQ(last.model, "m");
    const auto path =
        options_of<EvalOptions>({"eval", "m", "--text", "a", "--stages", "3", "--path", "0,1,1,2"});
    EXPECT_EQ(path.stages, 3U);
    EXPECT_EQ(path.path, (std::vector<std::uint32_t>{0, 1, 1, 2}));
}

TEST(EvalFlags, TakePlacesOfExitsWithExitsAlone) {
    const auto exits = options_of<EvalOptions>(
        {"eval", "runs/a", "--text", "a", "--exits-at", "2,4", "--exit", "0.5,0.9"}
    );
    EXPECT_EQ(exits.exits_at, (std::vector<std::uint32_t>{2, 4}));
    const auto trained =
        options_of<EvalOptions>({"eval", "runs/a", "--text", "a", "--exit", "0.5"});
    EXPECT_TRUE(trained.exits_at.empty()) << "those of the run";
    EXPECT_EQ(exits.exits, (std::vector<double>{0.5, 0.9}));
    EXPECT_FALSE(exits.exit_cost.has_value());
    const auto cost = options_of<EvalOptions>(
        {"eval", "runs/a", "--text", "a", "--exits-at", "2", "--exit-cost", "1.5"}
    );
    EXPECT_EQ(cost.exit_cost, 1.5);
    const std::vector<Words> bad = {
        {"eval", "m", "--text", "a", "--stages", "2", "--exit", "0.5"},
        {"eval", "m", "--text", "a", "--stages", "2", "--exit-cost", "1"},
        {"eval", "m", "--text", "a", "--exits-at", "2"},
        {"eval", "m", "--text", "a", "--exits-at", "2", "--exit-cost", "-1"},
        {"eval", "m", "--tasks", "copy", "--exit-cost", "1"},
        {"eval", "m", "--text", "a", "--exits-at", "2", "--exit", "1.5"},
        {"eval", "m", "--tasks", "copy", "--exits-at", "2", "--exit", "0.5"}};
    for (const Words& words : bad) {
        EXPECT_EQ(exit_of(words).code, kUsage) << joined(words);
    }
}

TEST(EvalFlags, HelpShowsExamplesAndNamesTheTasks) {
    const Exit help = exit_of({"eval", "--help"});
    EXPECT_EQ(help.code, kDone);
    EXPECT_NE(help.text.find("\n  swarm eval smollm2 --text emma.txt"), std::string::npos);
    EXPECT_NE(help.text.find("all, copy, agree, facts"), std::string::npos) << help.text;
}

TEST(EvalFlags, WordsThatAreNotUnderstoodAreAUsageError) {
    const std::vector<Words> bad = {
        {"eval"},
        {"eval", "smollm2"},
        {"eval", "--text", "a.txt"},
        {"eval", "smollm2", "--text"},
        {"eval", "smollm2", "--tasks", "piqa"},
        {"eval", "smollm2", "--text", "a", "--context", "1"},
        {"eval", "smollm2", "--text", "a", "--stride", "0"},
        {"eval", "smollm2", "--text", "a", "--stages", "0"},
        {"eval", "smollm2", "--text", "a", "--path", "0,x"},
        {"eval", "smollm2", "--text", "a", "--weights", "int3"}};
    for (const Words& words : bad) {
        EXPECT_EQ(exit_of(words).code, kUsage) << joined(words);
    }
    const Exit no_task = exit_of({"eval", "smollm2", "--tasks", "piqa"});
    EXPECT_NE(no_task.text.find("there is no task piqa"), std::string::npos) << no_task.text;
}

}  // namespace
}  // namespace swarm::cli
