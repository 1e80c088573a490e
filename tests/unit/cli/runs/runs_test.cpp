#include "swarm/cli/runs/runs.hpp"

#include "swarm/base/durable_file.hpp"
#include "swarm/cli/metrics/metrics_files.hpp"
#include "swarm/cli/runs/run_comparison.hpp"
#include "swarm/cli/runs/run_summary.hpp"
#include "swarm/cli/terminal/exit_code.hpp"
#include "swarm/cli/train/patience_end.hpp"
#include "tests/unit/cli/parsed_words.hpp"
#include "tests/unit/net/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <string>
#include <sys/file.h>
#include <vector>

namespace swarm::cli {
namespace {

namespace fs = std::filesystem;
using test::Words;

run::RunConfig settings(const std::string& name, std::uint64_t steps) {
    run::RunConfig config;
    config.name = name;
    config.steps = steps;
    return config;
}

/// A step of 64 tokens, a minute after the one before.
StepMetrics step_with(std::uint64_t step, std::optional<double> loss) {
    StepMetrics metrics;
    metrics.step = step;
    metrics.loss = loss;
    metrics.seconds = 0.5;
    metrics.tokens_per_s = 128;
    metrics.unix_time_s = 1'764'308'400.0 + 60.0 * static_cast<double>(step);
    return metrics;
}

std::vector<StepMetrics> steps_with(const std::vector<double>& losses) {
    std::vector<StepMetrics> steps;
    for (const double loss : losses) {
        steps.push_back(step_with(steps.size() + 1, loss));
    }
    return steps;
}

class RunsTest : public testing::Test {
 protected:
    fs::path write(
        const std::string& folder,
        const run::RunConfig& config,
        const std::vector<StepMetrics>& steps = {}
    ) const {
        const fs::path path = scratch.path() / folder;
        fs::create_directories(path);
        std::ofstream(path / "run.toml") << to_toml(config);
        std::ofstream metrics;
        for (const StepMetrics& step : steps) {
            metrics.is_open() ? void() : metrics.open(path / kMetricsFile);
            metrics << to_line(step);
        }
        return path;
    }

    [[nodiscard]] std::string named(const std::string& folder) const {
        return (scratch.path() / folder).string();
    }

    swarm::test::TemporaryFolder scratch;
};

TEST_F(RunsTest, AreFoundByTheirOwnFoldersAndByThoseAbove) {
    const fs::path second = write("runs/b", settings("b", 4));
    const fs::path first = write("runs/a", settings("a", 4));
    const fs::path other = write("elsewhere", settings("c", 4));
    fs::create_directories(scratch.path() / "runs" / "no-run");
    const auto found = find_runs({named("elsewhere"), named("runs"), named("runs/b")});
    ASSERT_TRUE(found) << found.error().detail;
    EXPECT_EQ(*found, (std::vector<fs::path>{other, first, second, second}));
    for (const char* const none : {"runs/no-run", "nothing"}) {
        const auto refused = find_runs({named("runs"), named(none)});
        ASSERT_FALSE(refused) << none;
        EXPECT_EQ(refused.error().code, ErrorCode::NotFound);
        EXPECT_NE(refused.error().detail.find(none), std::string::npos) << refused.error().detail;
    }
}

TEST_F(RunsTest, OfLocalAreFoundInItsFolder) {
    write("runs/local", settings("asked", 4));
    const fs::path inner = write("runs/local/run", settings("inner", 2), steps_with({2, 1}));
    for (const char* const name : {"runs", "runs/local", "runs/local/run"}) {
        const auto found = find_runs({named(name)});
        ASSERT_TRUE(found) << found.error().detail;
        EXPECT_EQ(*found, std::vector<fs::path>{inner}) << name;
    }
    const auto files = read_run_files(named("runs/local"));
    ASSERT_TRUE(files) << files.error().detail;
    EXPECT_EQ(files->config.name, "inner");
    EXPECT_EQ(files->steps.size(), 2U);
}

TEST_F(RunsTest, TellWhatTheirLastStepLeft) {
    std::vector<StepMetrics> steps = steps_with({5, 4.5, 4});
    StepMetrics skipped = step_with(4, std::nullopt);
    skipped.skipped = "a gradient is not finite";
    steps.push_back(skipped);
    const RunSummary run = summarise_run(write("a", settings("long", 9), steps));
    EXPECT_EQ(run.name, "long");
    EXPECT_EQ(run.step, 4U);
    EXPECT_EQ(run.steps, 9U);
    EXPECT_EQ(run.loss, 4);
    EXPECT_EQ(run.tokens, 3U * 64) << "a skipped step has trained on no token";
    EXPECT_EQ(run.changed_unix_time_s, skipped.unix_time_s);
    EXPECT_EQ(run.standing, RunStanding::Stopped);
}

TEST_F(RunsTest, TellTheirState) {
    const RunSummary fresh = summarise_run(write("fresh", settings("fresh", 2)));
    EXPECT_EQ(fresh.standing, RunStanding::New);
    EXPECT_EQ(fresh.loss, std::nullopt);
    EXPECT_GT(fresh.changed_unix_time_s, 1.6e9) << "the time of the run file";
    const fs::path done = write("done", settings("done", 2), steps_with({2, 1}));
    EXPECT_EQ(summarise_run(done).standing, RunStanding::Done);
    {
        const FileDescriptor lock(::open((done / "lock").c_str(), O_RDWR | O_CREAT, 0600));
        EXPECT_EQ(summarise_run(done).standing, RunStanding::Done) << "nobody holds the lock";
        ASSERT_EQ(::flock(lock.get(), LOCK_EX | LOCK_NB), 0);
        EXPECT_EQ(summarise_run(done).standing, RunStanding::Training);
    }
    EXPECT_EQ(summarise_run(done).standing, RunStanding::Done);
    const fs::path ended = write("ended", settings("ended", 9), steps_with({3, 2, 1}));
    ASSERT_TRUE(write_patience_end(ended, {3, 2, "no better held-out loss"}));
    EXPECT_EQ(summarise_run(ended).standing, RunStanding::Ended);
    EXPECT_STREQ(to_text(RunStanding::Ended), "ended early");
    ASSERT_TRUE(write_patience_end(ended, {2, 2, "it went on since"}));
    EXPECT_EQ(summarise_run(ended).standing, RunStanding::Stopped);
}

TEST_F(RunsTest, ThatCannotBeReadSayWhyAndHideNoOther) {
    const fs::path settings_gone = write("a", settings("a", 2));
    std::ofstream(settings_gone / "run.toml") << "[run]\nnonsense = 1\n";
    const fs::path metrics_bad = write("b", settings("b", 2));
    std::ofstream(metrics_bad / kMetricsFile) << "nonsense\n";
    const fs::path good = write("c", settings("c", 2));
    std::vector<RunSummary> runs;
    for (const fs::path& folder : {settings_gone, metrics_bad, good}) {
        runs.push_back(summarise_run(folder));
    }
    EXPECT_EQ(runs[0].standing, RunStanding::Unreadable);
    EXPECT_NE(runs[0].trouble.find("nonsense"), std::string::npos) << runs[0].trouble;
    EXPECT_EQ(runs[1].standing, RunStanding::Unreadable);
    EXPECT_NE(runs[1].trouble.find("metrics.jsonl: line 1"), std::string::npos) << runs[1].trouble;
    EXPECT_EQ(runs[2].standing, RunStanding::New);
    const std::string table = runs_table(runs);
    EXPECT_EQ(std::count(table.begin(), table.end(), '\n'), 4) << table;
}

TEST_F(RunsTest, StandInATableOfAlignedColumns) {
    RunSummary one{.folder = "runs/a", .name = "a\x1b", .step = 7, .steps = 1200};
    one.standing = RunStanding::Stopped;
    one.loss = 2.34567;
    one.held_out = 2.1;
    one.best_held_out = 2.1;
    one.tokens = 40960;
    one.changed_unix_time_s = 1'764'308'400;
    const RunSummary other{.folder = "runs/longer", .standing = RunStanding::Unreadable};
    EXPECT_EQ(
        runs_table({one, other}),
        "folder       name     step    loss  held-out  tokens  changed, UTC      state\n"
        "runs/a       a\\x1b  7/1200  2.3457    2.1000   40960  2025-11-28 05:40  stopped\n"
        "runs/longer  -           -       -         -       -  -                 unreadable\n"
    );
    one.best_held_out = 2.05;
    EXPECT_NE(runs_table({one}).find(" 2.1000 (2.0500) "), std::string::npos);
}

TEST(RunComparison, NamesTheKeysThatDifferAndTheLossesAtEqualSteps) {
    RunFiles first{settings("a", 4), steps_with({5, 4, 3, 2})};
    RunFiles second{settings("a", 4), steps_with({5, 3.5, 3})};
    second.config.seed = first.config.seed + 1;
    first.steps.erase(first.steps.begin());
    second.steps.back().loss.reset();
    RunComparison comparison = compare_runs(first, second);
    ASSERT_EQ(comparison.keys.size(), 1U);
    EXPECT_EQ(comparison.keys[0].key, "run.seed");
    ASSERT_EQ(comparison.losses.size(), 1U);
    EXPECT_EQ(comparison.losses[0].step, 2U);
    EXPECT_EQ(comparison.losses[0].first, 4);
    EXPECT_EQ(comparison.losses[0].second, 3.5);
    comparison.first = "runs/a";
    comparison.second = "runs/b";
    const std::string seed = std::to_string(first.config.seed);
    EXPECT_EQ(
        comparison_text(comparison),
        "A: runs/a\nB: runs/b\n  run.seed: A " + seed + ", B " +
            std::to_string(second.config.seed) +
            "\n      step      loss A      loss B       B - A\n"
            "         2      4.0000      3.5000     -0.5000\n"
    );
}

TEST(RunComparison, OfARunWithItselfSaysThatAllIsEqual) {
    const RunFiles run{settings("a", 4), {}};
    const std::string text = comparison_text(compare_runs(run, run));
    EXPECT_NE(text.find("all keys of both run files are equal\n"), std::string::npos) << text;
    EXPECT_NE(text.find("no step has a loss in both runs\n"), std::string::npos) << text;
}

TEST(RunComparison, ShowsAFewRowsAndTheLastOfThem) {
    const RunFiles run{settings("a", 1000), steps_with(std::vector<double>(1000, 1.5))};
    const RunComparison comparison = compare_runs(run, run);
    EXPECT_EQ(comparison.losses.size(), 1000U);
    const std::string text = comparison_text(comparison);
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 4 + 12) << text;
    EXPECT_NE(text.find("\n      1000      1.5000"), std::string::npos) << text;
}

TEST(RunsFlags, NameFoldersOrTwoRuns) {
    EXPECT_EQ(test::options_of<RunsOptions>({"runs"}).folders, Words{"runs"});
    const auto list = test::options_of<RunsOptions>({"runs", "a", "b", "--json", "out.json"});
    EXPECT_EQ(list.folders, (Words{"a", "b"}));
    EXPECT_EQ(list.json_file, "out.json");
    const auto two = test::options_of<RunsOptions>({"runs", "--compare", "a", "b"});
    EXPECT_EQ(two.compared, (Words{"a", "b"}));
    for (const Words& words :
         {Words{"runs", "--compare", "a"},
          Words{"runs", "c", "--compare", "a", "b"},
          Words{"runs", "--nonsense"}}) {
        EXPECT_EQ(test::exit_of(words).code, kUsage) << test::joined(words);
    }
    EXPECT_NE(test::exit_of({"runs", "--help"}).text.find("\n  swarm runs "), std::string::npos);
}

}  // namespace
}  // namespace swarm::cli
