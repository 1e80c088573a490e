#include "swarm/cli/status/status.hpp"

#include "swarm/cli/status/run_status.hpp"
#include "swarm/cli/terminal/text_table.hpp"
#include "tests/unit/cli/parsed_words.hpp"

#include <gtest/gtest.h>

namespace swarm::cli {
namespace {

using std::chrono::seconds;

RunStatus half_done() {
    RunStatus status;
    status.name = "demo";
    status.step = 12;
    status.steps = 60;
    status.loss = 3.25;
    status.stages = {
        {0, 2, {{"abcdefghijklmnop", "member", "192.0.2.1:4601"}}},
        {2, 1, {}},
    };
    return status;
}

TEST(TextTable, PutsColumnsBelowEachOther) {
    EXPECT_EQ(text_table({{"n", "name"}, {"10", "b"}}, {0}), " n  name\n10  b\n");
    EXPECT_EQ(text_table({}, {}), "");
}

TEST(RunStatus, ListsThePeersOfEachStage) {
    EXPECT_EQ(
        status_text(half_done()),
        "demo: step 12/60  loss 3.2500\n"
        "stage  layers  peer      standing  address\n"
        "    0  0-1     abcdefgh  member    192.0.2.1:4601\n"
        "    1  2       -         nobody    \n"
    );
}

TEST(RunStatus, WritesOutWhatWouldCommandATerminal) {
    RunStatus status = half_done();
    status.stages[0].peers[0].address = "\x1b[2Jhost:1";
    EXPECT_EQ(status_text(status).find('\x1b'), std::string::npos);
}

TEST(WatchedRun, TellsTheTimeOfAStepOnceItHasSeenTwo) {
    WatchedRun watched;
    RunStatus status = half_done();
    const TimePoint start{};
    EXPECT_EQ(watched.see(status, start), "step 12/60  loss 3.2500  peers 1+0");
    EXPECT_EQ(watched.see(status, start + seconds(2)), std::nullopt);
    status.step = 14;
    status.held_out_loss = 3.5;
    EXPECT_EQ(
        watched.see(status, start + seconds(4)),
        "step 14/60  loss 3.2500  held-out 3.5000  2 s per step  ETA 1:32  peers 1+0"
    );
    status.step = 10;  // back at a checkpoint
    status.held_out_loss.reset();
    EXPECT_EQ(watched.see(status, start + seconds(5)), "step 10/60  loss 3.2500  peers 1+0");
}

TEST(StatusFlags, TakeTheAddressOfACoordinator) {
    const auto options =
        test::options_of<StatusOptions>({"status", "--join", "192.0.2.1", "--watch"});
    EXPECT_EQ(options.join, "192.0.2.1:7117");
    EXPECT_TRUE(options.watch);
    EXPECT_EQ(options.wait, seconds(10));
}

}  // namespace
}  // namespace swarm::cli
