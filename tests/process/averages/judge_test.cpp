// Runs `swarm stack judge` like a person, on two small domains.
#include "tests/process/averages/averages_bed.hpp"

#include <boost/json/array.hpp>

namespace swarm::test {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

class JudgeTest : public StackBed {
 protected:
    void write_words(const std::string& name, const std::vector<std::string>& words) const {
        std::ofstream text(folder.path() / name);
        for (std::size_t i = 0; i < 6000; ++i) {
            text << words[(i * (i % 7 + 1)) % words.size()] << (i % 80 == 79 ? "\n\n" : " ");
        }
    }

    int judge(const std::vector<std::string>& more) {
        std::vector<std::string> words{
            "stack", "judge", file("sea.txt"), file("land.txt"), "-o", file("judged")};
        for (const char* const setting :
             {"model.layers=2",
              "model.width=32",
              "model.heads=2",
              "model.kv_heads=2",
              "model.ffn_width=64",
              "model.context=64",
              "optimizer.learning_rate=0.01",
              "optimizer.warmup_steps=0",
              "run.microbatches=2"}) {
            words.insert(words.end(), {"--set", setting});
        }
        words.insert(words.end(), more.begin(), more.end());
        return run(words, std::chrono::seconds(120));
    }
};

TEST_F(JudgeTest, TrainsAndMeasuresEachRecipe) {
    write_words("sea.txt", {"ship", "wave", "sail", "wind", "harbour", "anchor"});
    write_words("land.txt", {"plough", "wheat", "barn", "cattle", "harvest"});
    const std::vector<std::string> few{"--base-steps", "6", "--steps", "6", "--seeds", "1"};
    ASSERT_EQ(judge(few), 0) << err;
    const json::value report = json::parse(read_text(file("judged/judge.json")));
    const json::array& recipes = report.at("recipes").as_array();
    ASSERT_EQ(recipes.size(), 22U);
    for (const json::value& recipe : recipes) {
        const json::value& seed = recipe.at("seeds").at(0);
        EXPECT_GT(seed.at("mean").to_number<double>(), 0.1) << recipe;
        EXPECT_LT(seed.at("mean").to_number<double>(), 9) << recipe;
    }
    const auto recipe_named = [&](const char* name) {
        for (const json::value& recipe : recipes) {
            if (recipe.at("recipe").as_string() == name) {
                return recipe;
            }
        }
        return json::value();
    };
    const auto loss_of = [&](const char* recipe) {
        return recipe_named(recipe).at("seeds").at(0).at("mean").to_number<double>();
    };
    EXPECT_EQ(
        recipe_named("dense-large-batch").at("training_tokens"), recipes[0].at("training_tokens")
    );
    EXPECT_NE(loss_of("dense-large-batch"), loss_of("dense"));
    EXPECT_LT(loss_of("ensemble"), loss_of("best"))
        << "an ensemble of domains beats its best member on all";
    for (const json::value& recipe : recipes) {
        const json::value& early = recipe.at("seeds").at(0).at("early_share");
        EXPECT_EQ(early.is_null(), recipe.at("recipe").as_string() != "whole") << recipe;
        EXPECT_TRUE(early.is_null() || early.to_number<double>() <= 1) << recipe;
        if (!early.is_null()) {
            const json::value& seed = recipe.at("seeds").at(0);
            const double more = seed.at("early_more_loss").to_number<double>();
            EXPECT_LE(more / seed.at("mean").to_number<double>(), 0.015) << recipe;
        }
    }
    EXPECT_FALSE(fs::exists(file("judged/seed-1/aligned-states"))) << "they are large";
    EXPECT_TRUE(fs::exists(file("judged/plot.svg")));
    EXPECT_NE(read_text(file("judged/table.md")).find("| ensemble |"), std::string::npos);
    // The trainings stay: the second call trains nothing, and tells the same losses.
    const std::string first = read_text(file("judged/table.md"));
    std::vector<std::string> again = few;
    again.insert(again.end(), {"--recipes", "all", "--budget", "0s"});
    ASSERT_EQ(judge(again), 0) << err;
    EXPECT_EQ(err.find("step "), std::string::npos) << err;
    EXPECT_EQ(read_text(file("judged/table.md")).substr(0, 200), first.substr(0, 200));
    // An interrupted alignment is done again.
    fs::remove_all(file("judged/seed-1/aligned"));
    fs::create_directories(file("judged/seed-1/.aligned.draft"));
    std::vector<std::string> aligned = few;
    aligned.insert(aligned.end(), {"--recipes", "align"});
    ASSERT_EQ(judge(aligned), 0) << err;
    const json::value other = json::parse(read_text(file("judged/judge.json"))).at("recipes").at(0);
    EXPECT_EQ(
        other.at("seeds").at(0).at("losses"), recipe_named("align").at("seeds").at(0).at("losses")
    );
    // Trainings of other steps are not taken for these.
    EXPECT_EQ(judge({"--steps", "7"}), kRefused);
    EXPECT_NE(err.find("choose another folder"), std::string::npos) << err;
}

TEST_F(JudgeTest, BeginsWithAModel) {
    write("sea.txt", repeated("a ship with a sail in the wind "));
    write("land.txt", repeated("wheat behind the plough "));
    std::vector<std::string> words{
        "stack", "judge", file("sea.txt"), file("land.txt"), "-o", file("begun")};
    words.insert(words.end(), {"--init", file("mine"), "--recipes", "dense,chain-apart"});
    words.insert(words.end(), {"--base-steps", "1", "--steps", "1", "--seeds", "1"});
    ASSERT_EQ(run(words), kRefused) << err;
    EXPECT_EQ(count_lines(err), 1U) << err;
    EXPECT_FALSE(fs::exists(file("begun")));
    train("mine", "", 20, "sea.txt");
    ASSERT_EQ(run(words), 0) << err;
    EXPECT_NE(err.find("begins with the weights of " + file("mine")), std::string::npos) << err;
    const json::value rows = json::parse(read_text(file("begun/judge.json"))).at("recipes");
    const json::value& losses = rows.at(0).at("seeds").at(0).at("losses");
    EXPECT_LT(losses.at(0).to_number<double>(), 3) << "what it knows, beside 5.5 of none";
    EXPECT_NE(rows.at(1).at("left_out").as_string().find("--init"), std::string_view::npos);
}

TEST_F(JudgeTest, ATextThatIsTooShortIsOneLine) {
    write_words("sea.txt", {"ship", "wave"});
    std::ofstream(file("land.txt")) << "short";
    EXPECT_EQ(judge({}), kRefused);
    EXPECT_NE(err.find("land.txt is too short"), std::string::npos) << err;
}

TEST_F(JudgeTest, AKeyInWhichRecipesDifferIsRefusedBeforeAnythingIsTrained) {
    write_words("sea.txt", {"ship", "wave", "sail"});
    write_words("land.txt", {"plough", "wheat"});
    for (const std::string key : {"train.exits", "loop.every", "train.freeze", "run.steps"}) {
        EXPECT_EQ(judge({"--set", key + "=1"}), kMisunderstood);
        EXPECT_NE(err.find(key + " is what the recipes differ in"), std::string::npos) << err;
    }
    EXPECT_FALSE(fs::exists(file("judged")));
}

}  // namespace
}  // namespace swarm::test
