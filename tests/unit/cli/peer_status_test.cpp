#include "swarm/cli/common/peer_status.hpp"

#include "tests/start.hpp"

#include <gtest/gtest.h>

namespace swarm::cli {
namespace {

using std::chrono::seconds;
using swarm::test::kStart;

node::ServerStatus working(std::uint64_t step) {
    return {"working", {1}, {0, step}, {}, 30, 0.5, 3.25};
}

TEST(PeerStatus, TellsWhatThePeerDoesAndWhatHasComeOfIt) {
    PeerStatus status(PeerStatus::On::Terminal, seconds(60));
    EXPECT_EQ(
        status.line_of({"waiting for a stage", {0}, {}}, {}, kStart),
        "stage 0, step 0: waiting for a stage"
    );
    status.line_of(working(11), {1'000'000, 500'000}, kStart + seconds(1));
    EXPECT_EQ(
        status.line_of(working(12), {3'000'000, 1'000'000}, kStart + seconds(2)),
        "stage 1, step 12: working; added 30 microbatches, 50 % of the stage's, up 12.0, down 4.0 "
        "Mb/s; loss 3.2500"
    );
}

TEST(PeerStatus, TellsForHowLongTheCoordinatorIsGone) {
    PeerStatus status(PeerStatus::On::Terminal, seconds(60));
    EXPECT_EQ(
        status.line_of({"the coordinator is gone", {1}, {0, 7}, seconds(41)}, {}, kStart),
        "stage 1, step 7: the coordinator is gone, for 41 s"
    );
}

TEST(PeerStatus, AFileGetsALineForEachChangeAndOneAMinute) {
    PeerStatus status(PeerStatus::On::File, seconds(60));
    EXPECT_TRUE(status.line_of(working(1), {}, kStart));
    EXPECT_FALSE(status.line_of(working(2), {}, kStart + seconds(59)));
    EXPECT_TRUE(status.line_of(working(3), {}, kStart + seconds(60)));
    EXPECT_FALSE(status.line_of(working(4), {}, kStart + seconds(61)));
    EXPECT_TRUE(status.line_of({"leaving", {1}, {0, 4}}, {}, kStart + seconds(62)));
}

}  // namespace
}  // namespace swarm::cli
