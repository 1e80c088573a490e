// tests/bench/RESULTS.md: every row has one figure, a command that this tree can run, commits that
// exist, and a machine that the file defines. Needs git and the whole history.
#include "results_commands.hpp"
#include "results_table.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <set>

namespace swarm::test {
namespace {

namespace fs = std::filesystem;

const fs::path kRoot = SWARM_SOURCE_DIR;

/// Tests and scenarios whose figures were fitted to a publication, or come from its inputs.
constexpr const char* kMarked[] = {
    "GoldenTable1",
    "GoldenTable4",
    "GoldenWan",
    "Helix",
    "GoldenCapacity.ReachesMoreOfTable4",
    "swarm_table4",
    "table1-gpt3"};

std::string results_text() {
    std::ifstream in(kRoot / "tests/bench/RESULTS.md");
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

const ResultTables& results() {
    static const ResultTables tables = read_results(results_text());
    return tables;
}

std::string place(const ResultRow& row) {
    return "RESULTS.md:" + std::to_string(row.line) + ": " + row.command + ": ";
}

TEST(Results, EveryRowIsOneFigure) {
    EXPECT_GE(results().rows.size(), 100U);
    for (const std::string& fault : results().faults) {
        ADD_FAILURE() << "RESULTS.md, " << fault;
    }
}

TEST(Results, EveryCommandRunsOnThisTree) {
    std::set<std::string> seen;
    for (const auto* rows : {&results().rows, &results().preparations}) {
        for (const ResultRow& row : *rows) {
            if (seen.insert(row.command).second) {
                const Fault fault = command_fault(kRoot, row.command);
                EXPECT_FALSE(fault) << place(row) << *fault;
            }
        }
    }
}

TEST(Results, EveryCommitExists) {
    const Fault missing = history_fault(kRoot);
    ASSERT_FALSE(missing) << *missing;
    std::set<std::string> seen;
    for (const ResultRow& row : results().rows) {
        for (const std::string& commit : row.commits) {
            if (seen.insert(commit).second) {
                const Fault fault = commit_fault(kRoot, commit);
                EXPECT_FALSE(fault) << place(row) << *fault;
            }
        }
    }
}

TEST(Results, FiguresThatWereFittedOrDeriveFromAPublicationAreMarked) {
    for (const ResultRow& row : results().rows) {
        for (const char* name : kMarked) {
            if (row.command.find(name) != std::string::npos) {
                EXPECT_NE(row.mark, "") << place(row) << "the claim begins with no mark";
            }
        }
    }
}

const std::string kHead =
    "| machine | what it is |\n|---|---|\n| `zen4` | a machine |\n\n"
    "| mark | what it says |\n|---|---|\n| [fitted] | no evidence |\n\n"
    "| claim | number | command | commit | machine |\n|---|---|---|---|---|\n";

std::size_t faults_of(const std::string& row) {
    return read_results(kHead + row + "\n").faults.size();
}

TEST(ResultsTable, ARowHasFiveCellsAndNoneIsEmpty) {
    EXPECT_EQ(faults_of("| a claim | 1.2 s | `swarm doctor` | 0123abc | `zen4` |"), 0U);
    EXPECT_EQ(faults_of("| [fitted] a claim | equal | `swarm doctor` | 0123abc | `zen4` |"), 0U);
    EXPECT_EQ(faults_of("| a claim | 1.2 s | `swarm doctor` | 0123abc |"), 1U);
    EXPECT_EQ(faults_of("| a claim | 1.2 s | `swarm doctor` | 0123abc | `zen4` | more |"), 1U);
    EXPECT_EQ(faults_of("| | 1.2 s | `swarm doctor` | 0123abc | `zen4` |"), 1U);
}

TEST(ResultsTable, WhatIsNotDefinedIsAFault) {
    EXPECT_EQ(faults_of("| a claim | 1.2 s | `swarm doctor` | 0123abc | `zen5` |"), 1U);
    EXPECT_EQ(faults_of("| [guess] a claim | 1 | `swarm doctor` | 0123abc | `zen4` |"), 1U);
    EXPECT_EQ(faults_of("| a claim | 1 | `swarm doctor` | newest | `zen4` |"), 1U);
    EXPECT_EQ(faults_of("| a claim | 1 | `swarm doctor` | 0123abc, 4567def | `zen4` |"), 0U);
}

TEST(ResultsTable, AClaimIsMadeOnce) {
    const std::string row = "| a claim | 1.2 s | `swarm doctor` | 0123abc | `zen4` |\n";
    EXPECT_EQ(faults_of(row + row), 1U);
}

TEST(ResultsTable, ATableWithOtherColumnsIsAFault) {
    EXPECT_EQ(read_results("| what | result |\n|---|---|\n| a claim | 1 |\n").faults.size(), 1U);
}

TEST(ResultsTable, OneFigureIsOneNumberOrOneWord) {
    for (const char* cell :
         {"1", "0.98", "1,052,114", "-0.1 %", "+4 %", "2.2 s", "more than 150", "equal", "none"}) {
        EXPECT_TRUE(is_one_figure(cell)) << cell;
    }
    for (const char* cell :
         {"", "1.72-1.79", "22 ms (worst 43)", "1; 2", "7 and 4", "64 of 64", "fast", "about 3"}) {
        EXPECT_FALSE(is_one_figure(cell)) << cell;
    }
}

TEST(ResultsCommands, WordsAreThoseOfAShell) {
    const std::vector<std::string> words{"a_test", "--gtest_filter=A.*", "two words", "", "end"};
    EXPECT_EQ(words_of("a_test  --gtest_filter='A.*' \"two words\" '' end"), words);
}

TEST(ResultsCommands, FlagsThatTheProgramsDoNotHaveAreFaults) {
    EXPECT_FALSE(command_fault(kRoot, "swarm local --stages 3 --peers 9 --verify"));
    EXPECT_TRUE(command_fault(kRoot, "swarm local --stages 3 --pears 9 --verify"));
    EXPECT_TRUE(command_fault(kRoot, "swarm juggle"));
    EXPECT_FALSE(command_fault(kRoot, "swarm-bench codec --runs 31"));
    EXPECT_TRUE(command_fault(kRoot, "swarm-bench codec --turns 31"));
    EXPECT_TRUE(command_fault(kRoot, "swarm-bench"));
    EXPECT_FALSE(command_fault(kRoot, "./swarm.sh test --core"));
    EXPECT_TRUE(command_fault(kRoot, "./swarm.sh test --most"));
    EXPECT_TRUE(command_fault(kRoot, "./swarm.sh dance"));
    EXPECT_FALSE(command_fault(kRoot, "python3 tests/bench/baselines/side_by_side.py"));
    EXPECT_TRUE(command_fault(kRoot, "python3 tests/bench/baselines/none.py"));
    EXPECT_TRUE(command_fault(kRoot, "make"));
}

TEST(ResultsCommands, TestsThatNobodyBuildsAndFiltersThatFindNothingAreFaults) {
    const std::string program = "unit_bench_test";
    EXPECT_FALSE(command_fault(kRoot, program));
    EXPECT_FALSE(command_fault(kRoot, program + " --gtest_filter='CurveSvg*'"));
    EXPECT_TRUE(command_fault(kRoot, program + " --gtest_filter='NoSuite.*'"));
    EXPECT_TRUE(command_fault(kRoot, program + " --shuffle"));
    EXPECT_TRUE(command_fault(kRoot, "no_such_test"));
}

TEST(ResultsCommands, CommitsThatTheHistoryDoesNotHaveAreFaults) {
    EXPECT_TRUE(commit_fault(kRoot, "0123456789abcdef0123456789abcdef01234567"));
    EXPECT_TRUE(history_fault("/"));
}

}  // namespace
}  // namespace swarm::test
