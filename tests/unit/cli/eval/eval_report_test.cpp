#include "swarm/cli/eval/eval_report.hpp"

#include "swarm/cli/eval/eval_progress.hpp"

#include <boost/json/parse.hpp>
#include <gtest/gtest.h>

#include <cmath>

namespace swarm::cli {
namespace {

namespace json = boost::json;

TEST(EvalReport, FiguresOfATextFollowFromItsSum) {
    const TextFigures text{
        .name = "a.txt", .bytes = 400, .tokens = 100, .nats = 100 * std::log(8.0), .seconds = 2};
    EXPECT_NEAR(text.loss(), std::log(8.0), 1e-12);
    EXPECT_NEAR(text.bits_per_byte(), 300.0 / 400, 1e-12);
    EXPECT_NEAR(text.perplexity(), 8, 1e-12);
    EXPECT_NEAR(text.tokens_per_s(), 50, 1e-12);
    EXPECT_EQ(
        to_row(text),
        "       100         400      2.0794     0.7500           8      50.0  a.txt\n"
    );
}

TEST(EvalReport, TheMeanCountsEachTokenTheSame) {
    const TextFigures all = sum_of(
        {{.name = "a", .bytes = 10, .tokens = 1, .nats = 4, .seconds = 1},
         {.name = "b", .bytes = 30, .tokens = 3, .nats = 0, .seconds = 1, .finished = false}}
    );
    EXPECT_EQ(all.loss(), 1);
    EXPECT_EQ(all.bytes, 40U);
    EXPECT_EQ(all.tokens_per_s(), 2);
    EXPECT_FALSE(all.finished);
    EXPECT_NE(to_row(all).find("all (so far)"), std::string::npos);
}

TEST(EvalReport, AShareHasItsStandardError) {
    const LikelihoodTask& task = *find_task("facts");
    TaskFigures figures{.task = &task, .items = 48, .right = 36};
    EXPECT_EQ(figures.share(), 0.75);
    EXPECT_NEAR(figures.standard_error(), std::sqrt(0.75 * 0.25 / 48), 1e-12);
    EXPECT_TRUE(figures.finished());
    EXPECT_NE(to_row(figures).find("75.0 %"), std::string::npos) << to_row(figures);
    EXPECT_NE(to_row(figures).find("25.0 %"), std::string::npos) << to_row(figures);
    figures.items = 40;
    EXPECT_NE(to_row(figures).find("facts (so far)"), std::string::npos) << to_row(figures);
}

TEST(EvalReport, ALossWithoutAPerplexityIsNull) {
    EvalFigures figures;
    figures.texts = {{.name = "a", .bytes = 1, .tokens = 1, .nats = 1000}};
    const json::value document = json::parse(to_json(figures));
    EXPECT_TRUE(document.at("texts").at(0).at("perplexity").is_null());
    EXPECT_EQ(document.at("texts").at(0).at("loss").as_double(), 1000);
}

TEST(EvalReport, NamesThePathOfATokenIfThereIsOne) {
    EvalFigures figures;
    EXPECT_TRUE(json::parse(to_json(figures)).at("path").is_null());
    figures.stages = 3;
    figures.path = {0, 1, 1, 2};
    const json::value document = json::parse(to_json(figures));
    EXPECT_EQ(document.at("stages"), 3);
    EXPECT_EQ(document.at("path"), (json::array{0, 1, 1, 2}));
}

TEST(EvalProgress, SaysHowMuchIsLeft) {
    EXPECT_EQ(
        eval_progress_line("a.txt", "tokens", 4000, 10'000, 20),
        "a.txt: 4000 of 10000 tokens, 200.0 tokens/s, 0:30 left"
    );
    EXPECT_EQ(eval_progress_line("copy", "items", 0, 48, 1), "copy: 0 of 48 items");
}

}  // namespace
}  // namespace swarm::cli
