#include "swarm/cli/compute/threads.hpp"

#include "swarm/cli/answer/generate_options.hpp"
#include "swarm/cli/local/local.hpp"
#include "swarm/cli/serve/serve.hpp"
#include "swarm/cli/stack/stack.hpp"
#include "swarm/cli/terminal/exit_code.hpp"
#include "swarm/cli/train/train.hpp"
#include "tests/unit/cli/parsed_words.hpp"
#include "tests/unit/net/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <sched.h>

namespace swarm::cli {
namespace {

namespace fs = std::filesystem;
using swarm::test::TemporaryFolder;
using test::exit_of;
using test::options_of;
using test::Words;

Words with(Words words, const char* threads) {
    words.insert(words.end(), {"--threads", threads});
    return words;
}

const Words kServe{"serve", "--join", "h:1"};
const Words kSingle{"train", "--single"};
const Words kGenerate{"generate", "--model", "smollm2", "hello"};
const Words kMeasure{"stack", "measure", "two.toml", "--text", "a"};

TEST(ThreadsFlag, IsTakenByWhatComputes) {
    EXPECT_EQ(options_of<ServeOptions>(with(kServe, "3")).threads, 3U);
    EXPECT_EQ(options_of<ServeOptions>(with(kServe, "auto")).threads, kAutoThreads);
    EXPECT_EQ(options_of<ServeOptions>(kServe).threads, std::nullopt);
    EXPECT_EQ(options_of<TrainOptions>(with(kSingle, "2")).threads, 2U);
    EXPECT_EQ(options_of<LocalOptions>(with({"local"}, "256")).threads, 256U);
    EXPECT_EQ(options_of<GenerateOptions>(with(kGenerate, "4")).threads, 4U);
    EXPECT_EQ(options_of<StackMeasureOptions>(with(kMeasure, "auto")).threads, kAutoThreads);
}

TEST(ThreadsFlag, RefusesWhatIsNoNumberOfThreads) {
    for (const char* text : {"0", "257", "-1", "2x", "nan", "", "all", "99999999999"}) {
        const Exit exit = exit_of(with(kServe, text));
        EXPECT_EQ(exit.code, kUsage) << text;
        EXPECT_NE(
            exit.text.find(std::string("wants auto, or a number from 1 to 256, not ") + text),
            std::string::npos
        ) << exit.text;
    }
}

TEST(ThreadsFlag, IsRefusedWhereOthersCompute) {
    EXPECT_EQ(exit_of(with({"train"}, "2")).code, kUsage);
    EXPECT_EQ(exit_of(with({"generate", "--join", "h:1", "hello"}, "2")).code, kUsage);
}

TEST(Threads, ARunThatSaysNothingHasTheResultsOfOneThread) {
    EXPECT_EQ(threads_to_train(std::nullopt), 1U);
    EXPECT_EQ(threads_to_train(3), 3U);
}

TEST(Threads, AutoIsTheCoresOfTheMachineOverTheProcesses) {
    const std::uint32_t cores = usable_cores();
    EXPECT_EQ(threads_to_answer(std::nullopt), std::min(cores, kAutoThreadsMax));
    EXPECT_EQ(threads_to_answer(kAutoThreads), threads_to_answer(std::nullopt));
    EXPECT_EQ(threads_to_train(kAutoThreads), threads_to_answer(std::nullopt));
    EXPECT_EQ(threads_to_train(kAutoThreads, 10'000), 1U);
    for (std::uint32_t peers = 1; peers <= cores; ++peers) {
        EXPECT_LE(peers * threads_to_train(kAutoThreads, peers), cores) << peers << " peers";
    }
    EXPECT_EQ(threads_to_answer(5, 10'000), 5U);
}

TEST(Threads, ACoreThatTheProcessMayNotUseDoesNotCount) {
    cpu_set_t before;
    ASSERT_EQ(::sched_getaffinity(0, sizeof before, &before), 0);
    cpu_set_t one;
    CPU_ZERO(&one);
    for (int core = 0; core < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++core) {
        if (CPU_ISSET(core, &before)) {
            CPU_SET(core, &one);
        }
    }
    ASSERT_EQ(::sched_setaffinity(0, sizeof one, &one), 0);
    EXPECT_EQ(usable_cores(), 1U);
    ASSERT_EQ(::sched_setaffinity(0, sizeof before, &before), 0);
}

TEST(Threads, TheTightestControlGroupCounts) {
    const TemporaryFolder folder;
    const fs::path root = folder.path();
    const auto write = [&](const fs::path& group, const char* text) {
        fs::create_directories(root / group);
        std::ofstream(root / group / "cpu.max") << text;
    };
    EXPECT_EQ(cores_of_group(root, "/"), std::nullopt);
    write("a", "max 100000\n");
    write("a/b", "350000 100000\n");
    write("a/b/c", "800000 100000\n");
    write("a/d", "50000 100000\n");
    write("a/e", "nonsense\n");
    EXPECT_EQ(cores_of_group(root, "/a"), std::nullopt);
    EXPECT_EQ(cores_of_group(root, "/a/b"), 3U);
    EXPECT_EQ(cores_of_group(root, "/a/b/c"), 3U);
    EXPECT_EQ(cores_of_group(root, "/a/d"), 1U);
    EXPECT_EQ(cores_of_group(root, "/a/e"), std::nullopt);
    EXPECT_EQ(cores_of_group(root, "/not/there"), std::nullopt);
    write("", "200000 100000\n");  // a container sees its own group as the root
    EXPECT_EQ(cores_of_group(root, "/a/b"), 2U);
}

TEST(Threads, WorkersHaveAsManyThreads) {
    EXPECT_EQ(make_workers(3)->threads(), 3U);
}

}  // namespace
}  // namespace swarm::cli
