#include "swarm/cli/terminal/repeat_filter.hpp"

#include "tests/start.hpp"

#include <gtest/gtest.h>

namespace swarm::cli {
namespace {

using std::chrono::seconds;
using swarm::test::kStart;

TEST(RepeatFilter, ShowsOneLineOfAKindInTenSecondsWithTheNumberOfTheOthers) {
    RepeatFilter filter;
    EXPECT_EQ(filter.pass("step 3: reduce aborted", kStart), "step 3: reduce aborted");
    EXPECT_EQ(filter.pass("step 4: reduce aborted", kStart + seconds(1)), std::nullopt);
    EXPECT_EQ(filter.pass("step 5: reduce aborted", kStart + seconds(9)), std::nullopt);
    EXPECT_EQ(
        filter.pass("step 6: reduce aborted", kStart + seconds(10)),
        "step 6: reduce aborted (and 2 more like it)"
    );
    EXPECT_EQ(
        filter.pass("step 7: reduce aborted", kStart + seconds(21)), "step 7: reduce aborted"
    );
}

TEST(RepeatFilter, KeepsPeersAndAddressesApart) {
    RepeatFilter filter;
    for (const char* line :
         {"peer ab23cdef: no link for 5 s",
          "peer ab24cdef: no link for 5 s",
          "turned away 10.0.0.1",
          "turned away 10.0.0.2",
          "cannot read a.txt",
          "cannot read b.txt"}) {
        EXPECT_EQ(filter.pass(line, kStart), line);
    }
}

TEST(RepeatFilter, GivesWhatItHeldBackOnceThePauseIsOver) {
    RepeatFilter filter;
    filter.pass("late by 3 s", kStart);
    filter.pass("late by 4 s", kStart);
    EXPECT_TRUE(filter.take_overdue(kStart + seconds(9)).empty());
    EXPECT_EQ(
        filter.take_overdue(kStart + seconds(10)),
        std::vector<std::string>{"late by 4 s (and 1 more like it)"}
    );
    EXPECT_TRUE(filter.take_all().empty());
}

TEST(RepeatFilter, HasABoundOfKinds) {
    RepeatFilter filter;
    for (std::size_t i = 0; i <= RepeatFilter::kKindsMax; ++i) {
        const std::string line = "file f" + std::to_string(i);
        EXPECT_EQ(filter.pass(line, kStart + Duration(i)), line);
    }
    EXPECT_EQ(filter.pass("file f0", kStart + seconds(1)), "file f0") << "it was forgotten";
    EXPECT_EQ(filter.pass("file f9", kStart + seconds(1)), std::nullopt);
}

}  // namespace
}  // namespace swarm::cli
