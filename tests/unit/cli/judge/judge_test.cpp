#include "swarm/cli/judge/judge.hpp"

#include "swarm/cli/judge/judge_report.hpp"
#include "swarm/cli/judge/recipes.hpp"
#include "swarm/cli/terminal/exit_code.hpp"
#include "tests/unit/cli/parsed_words.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

namespace swarm::cli {
namespace {

using test::exit_of;
using test::options_of;
using test::Words;

TEST(Recipes, TrainOnTheSameNumberOfTokens) {
    for (const std::size_t domains : {2U, 3U, 5U}) {
        const JudgedSteps steps{60, 40};
        for (const Recipe& recipe : recipes_of(domains, steps)) {
            const std::uint64_t all = steps.base + domains * steps.member;
            if (recipe.name == "dense-2.5") {
                EXPECT_EQ(batches_of(recipe, steps), all * 5 / 2);
            } else {
                EXPECT_LE(batches_of(recipe, steps), all) << recipe.name;
                EXPECT_GT(batches_of(recipe, steps) + domains, all) << recipe.name;
            }
        }
    }
}

TEST(Recipes, NameEachTrainingOnceForOneContent) {
    std::vector<Training> seen;
    for (const Recipe& recipe : recipes_of(3, {10, 10})) {
        std::vector<Training> trainings = recipe.trainings;
        if (recipe.merging) {
            trainings.push_back(recipe.merging->tuning);
        }
        for (const Training& training : trainings) {
            const auto same = std::ranges::find(seen, training.name, &Training::name);
            if (same == seen.end()) {
                seen.push_back(training);
            } else {
                EXPECT_EQ(*same, training) << training.name;
            }
        }
    }
    EXPECT_EQ(seen.size(), 2 + 7 * 3 + 10U);
    const auto names = recipe_names();
    EXPECT_EQ(std::set<std::string>(names.begin(), names.end()).size(), names.size());
}

TEST(Recipes, CountTheBatchesOfTheirTrainings) {
    const JudgedSteps steps{60, 40};
    for (const Recipe& recipe : recipes_of(3, steps)) {
        const auto trainings = trainings_of(recipe, steps);
        EXPECT_EQ(trainings.front().name == kJudgedBase, recipe.needs_base) << recipe.name;
        EXPECT_EQ(
            trainings.size(),
            recipe.trainings.size() + (recipe.needs_base ? 1 : 0) + (recipe.merging ? 1 : 0)
        );
        std::uint64_t sum = recipe.aligned_steps;
        for (const Training& training : trainings) {
            sum += training.steps * training.batches;
        }
        EXPECT_EQ(sum, batches_of(recipe, steps)) << recipe.name;
    }
}

TEST(Recipes, MixturesShareTheirMembers) {
    std::vector<Training> of_first;
    std::size_t mixtures = 0;
    for (const Recipe& recipe : recipes_of(3, {40, 40})) {
        EXPECT_EQ(recipe.combination == Combination::Merged, recipe.merging.has_value());
        if (!recipe.merging || !recipe.merging->experts) {
            continue;
        }
        ++mixtures;
        const std::size_t members = std::max<std::size_t>(1, recipe.trainings.size());
        EXPECT_EQ(members * recipe.merging->experts->copies, 3U) << recipe.name;
        EXPECT_LE(recipe.merging->experts->top, 3U);
        const bool is_large = recipe.merging->tuning.batches > 1;
        const std::string begun = is_large ? "upcycled" : recipe.name;
        EXPECT_EQ(recipe.merging->tuning.from, begun + "-begin");
        if (recipe.name == "mixture") {
            of_first = recipe.trainings;
            EXPECT_EQ(recipe.trainings.front().steps, 30U);
            EXPECT_EQ(recipe.merging->tuning.steps, 30U);
        }
        EXPECT_TRUE(recipe.trainings.empty() || recipe.trainings == of_first);
    }
    EXPECT_EQ(mixtures, 6U);
}

const Recipe& recipe_of(const std::vector<Recipe>& recipes, const std::string& name) {
    return *std::ranges::find(recipes, name, &Recipe::name);
}

TEST(Recipes, AWholeChainAloneHasExits) {
    const auto recipes = recipes_of(3, {40, 40});
    const Recipe& plain = recipe_of(recipes, "chain-whole");
    const Recipe& whole = recipe_of(recipes, "whole");
    EXPECT_EQ(whole.trainings, plain.trainings);
    EXPECT_EQ(whole.merging->tuning.from, plain.merging->tuning.from) << "one begin for both";
    EXPECT_EQ(whole.merging->tuning.exit_parts, 3U);
    for (const Recipe& recipe : recipes) {
        const bool has_exits = recipe.merging && recipe.merging->tuning.exit_parts > 1;
        EXPECT_EQ(has_exits, recipe.name == "whole") << recipe.name;
    }
    EXPECT_GT(recipe_of(recipes, "loop").trainings.front().loop_every, 0U);
    EXPECT_EQ(recipe_of(recipes, "dense").trainings.front().loop_every, 0U);
}

TEST(Recipes, ALargeBatchTakesAsManyStepsAsAMember) {
    const JudgedSteps steps{60, 40};
    const auto recipes = recipes_of(3, steps);
    const Training large = recipe_of(recipes, "dense-large-batch").trainings.front();
    EXPECT_EQ(large.steps, 40U);
    EXPECT_EQ(large.batches, 3U);
    const Training mixed = recipe_of(recipes, "upcycled-large-batch").merging->tuning;
    EXPECT_EQ(mixed.steps, 40U);
    EXPECT_EQ(mixed.batches, 3U);
    for (const Recipe& recipe : recipes) {
        for (const Training& training : trainings_of(recipe, steps)) {
            EXPECT_EQ(training.batches > 1, training.name.ends_with("-large-batch"));
        }
    }
}

TEST(Recipes, AnAlignedMemberGivesStepsForIt) {
    const auto recipes = recipes_of(3, {40, 40});
    const Recipe& chain = recipe_of(recipes, "chain");
    const Recipe& aligned = recipe_of(recipes, "align");
    ASSERT_EQ(aligned.trainings.size(), 3U);
    EXPECT_EQ(aligned.trainings[0].steps + aligned.aligned_steps, chain.trainings[0].steps);
    EXPECT_EQ(aligned.aligned_steps, 10U);
    EXPECT_EQ(aligned.trainings[1], chain.trainings[1]);
    EXPECT_EQ(aligned.trainings[2], chain.trainings[2]);
}

TEST(CutText, HoldsATenthOutBehindALine) {
    std::string text;
    for (int i = 0; i < 1000; ++i) {
        text += "line " + std::to_string(i) + " of thirty bytes or so\n";
    }
    const auto cut = cut_text(text);
    ASSERT_TRUE(cut);
    EXPECT_EQ(std::string(cut->train) + std::string(cut->held_out), text);
    EXPECT_EQ(cut->train.back(), '\n');
    EXPECT_NEAR(
        static_cast<double>(cut->held_out.size()), static_cast<double>(text.size()) / 10, 50
    );
    EXPECT_FALSE(cut_text(std::string(19'999, 'x')));
    EXPECT_TRUE(cut_text(std::string(20'000, 'x')));
}

JudgeReport small_report() {
    JudgeReport report;
    report.domains = {"sea", "land"};
    report.recipes = {
        {"dense", "one model", 1000, {{{1, 3}, 2, 50, 10, {}, 2.5e6}, {{2, 4}, 3, 50, 10}}, {}},
        {"chain", "layers", 1000, {{{5, 5}, 2, 100, 5}}, "the time was over at seed 2"},
        {"average", "mean", 0, {}, "the time was over at seed 1"}};
    return report;
}

TEST(JudgeReport, HasARowPerRecipe) {
    const std::string table = judge_table(small_report());
    EXPECT_NE(
        table.find(
            "| dense | one model | 1.5000 | 3.5000 | 2.5000 ± 0.7071 | 1000 | 2.5 | 50 | 10 | "
            "passes |\n"
        ),
        std::string::npos
    ) << table;
    EXPECT_NE(table.find("| refused, the time was over at seed 2 |"), std::string::npos) << table;
    EXPECT_NE(
        table.find("| average | mean | - | - | - | - | - | - | - | the time"), std::string::npos
    ) << table;
    std::size_t columns = 0;
    for (std::size_t begin = 0; begin < table.size();) {
        const std::size_t end = table.find('\n', begin);
        const auto bars = static_cast<std::size_t>(std::count(
            table.begin() + static_cast<std::ptrdiff_t>(begin),
            table.begin() + static_cast<std::ptrdiff_t>(end),
            '|'
        ));
        EXPECT_TRUE(columns == 0 || columns == bars) << table.substr(begin, end - begin);
        columns = bars;
        begin = end + 1;
    }
}

TEST(JudgeReport, SaysWhatLeavesEarly) {
    JudgeReport report = small_report();
    report.recipes[0].seeds[0].early = EarlyExits{0.2, 0.01, 0.5};
    report.recipes[0].seeds[1].early = EarlyExits{0.4, 0.03, 0.6};
    const std::string table = judge_table(report);
    EXPECT_NE(table.find("| passes, 30 % leave early for 1 %: +0.0200 |"), std::string::npos)
        << table;
    const std::string json = judge_json(report);
    EXPECT_NE(json.find("\"early_more_loss\":1E-2"), std::string::npos) << json;
    EXPECT_NE(json.find("\"early_share\":null"), std::string::npos) << json;
}

TEST(JudgeReport, DrawsTheRecipesThatWereMeasured) {
    const std::string plot = judge_plot(small_report());
    EXPECT_NE(plot.find("dense"), std::string::npos);
    EXPECT_EQ(plot.find("average"), std::string::npos);
}

TEST(JudgeFlags, TakeTextsAndRecipes) {
    const auto options = options_of<JudgeOptions>(
        {"stack",
         "judge",
         "a.txt",
         "b.txt",
         "-o",
         "out",
         "--recipes",
         "dense,chain",
         "--budget",
         "2h",
         "--first-seed",
         "4",
         "--set",
         "model.width=64"}
    );
    EXPECT_EQ(options.sources, (Words{"a.txt", "b.txt"}));
    EXPECT_EQ(options.recipes, (Words{"dense", "chain"}));
    EXPECT_EQ(options.budget, Duration(std::chrono::hours(2)));
    EXPECT_EQ(options.seeds, 3U);
    EXPECT_EQ(options.first_seed, 4U);
    EXPECT_EQ(options.init, "");
    const auto recipes_as = [](const char* named) {
        return exit_of({"stack", "judge", "a.txt", "b.txt", "-o", "out", "--recipes", named}).code;
    };
    EXPECT_EQ(recipes_as("soups"), kUsage);
    const auto all = options_of<JudgeOptions>(
        {"stack", "judge", "a.txt", "b.txt", "-o", "out", "--recipes", "all"}
    );
    EXPECT_EQ(all.recipes, Words{"all"});
}

TEST(JudgeFlags, TakeNoShapeBesideAModelThatHasOne) {
    const Words words{"stack", "judge", "a.txt", "b.txt", "-o", "out", "--init", "smollm2"};
    EXPECT_EQ(options_of<JudgeOptions>(words).init, "smollm2");
    const auto with = [&](const char* setting) {
        Words more = words;
        more.insert(more.end(), {"--set", setting});
        return more;
    };
    EXPECT_EQ(exit_of(with("model.width=64")).code, kUsage);
    EXPECT_EQ(options_of<JudgeOptions>(with("model.context=64")).settings.size(), 1U);
}

}  // namespace
}  // namespace swarm::cli
