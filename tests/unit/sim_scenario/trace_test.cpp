#include "sim/scenario/trace.hpp"

#include <gtest/gtest.h>

#include <sstream>

namespace sim {
namespace {

using namespace std::chrono_literals;
using Kind = Happening::Kind;

swarm::Result<std::vector<Happening>> read(const std::string& csv) {
    std::istringstream in(csv);
    return read_trace(in, "t.csv", 9);
}

void expect_trace_refusal(const std::string& csv, const std::string& text) {
    const auto trace = read(csv);
    ASSERT_TRUE(trace.has_error()) << csv;
    EXPECT_EQ(trace.error().code, swarm::ErrorCode::Usage);
    EXPECT_TRUE(trace.error().detail.starts_with(text)) << trace.error().detail;
    EXPECT_EQ(trace.error().detail.find('\n'), std::string::npos);
}

TEST(ReadTrace, ReadsItsLines) {
    const auto trace = read(
        "seconds,peer,event\n# from a real run\n\n0,3,join\r\n1.5, 4, leave\n1.5,3,crash\n"
        "90,3,join"
    );
    ASSERT_TRUE(trace.has_value()) << trace.error().detail;
    ASSERT_EQ(trace->size(), 4U);
    EXPECT_EQ((*trace)[1].at, TimePoint(1500ms));
    EXPECT_EQ((*trace)[1].peer, 4U);
    EXPECT_EQ((*trace)[1].kind, Kind::Leave);
    EXPECT_EQ((*trace)[2].kind, Kind::Crash);
    EXPECT_EQ((*trace)[3].at, TimePoint(90s));
}

TEST(ReadTrace, RefusesLinesOutOfOrder) {
    expect_trace_refusal(
        "5,1,leave\n4,2,leave\n", "t.csv:2: is out of order: the line before is at 5 s"
    );
}

TEST(ReadTrace, RefusesLinesThatItDoesNotUnderstand) {
    const std::string form = "t.csv:2: must be seconds,peer,join|leave|crash";
    for (const char* line :
         {"5,1",
          "5,1,nap",
          "x,1,join",
          "5,-1,join",
          "5,1,join,2",
          "5,1,jo",
          "5;1;join",
          ",,",
          "5s,1,join"}) {
        expect_trace_refusal(std::string("1,9,leave\n") + line + "\n", form);
    }
    expect_trace_refusal("-1,1,join\n", "t.csv:1: must have a time from 0 to 366 days");
    expect_trace_refusal("nan,1,join\n", "t.csv:1: must have a time");
    expect_trace_refusal("1e30,1,join\n", "t.csv:1: must have a time");
    expect_trace_refusal(
        std::string(300, '1') + ",1,join\n", "t.csv: cannot be read, or has a line of"
    );
}

TEST(ReadTrace, RefusesPeersThatAreNotInTheFleet) {
    expect_trace_refusal("1,10,leave\n", "t.csv:1: names peer 10, but there are 9 peers, from 1");
    expect_trace_refusal("1,0,leave\n", "t.csv:1: names peer 0, but");
}

TEST(ReadTrace, RefusesContradictions) {
    expect_trace_refusal("1,3,join\n2,3,join\n", "t.csv:2: peer 3 is there since line 1");
    expect_trace_refusal("1,3,leave\n2,3,crash\n", "t.csv:2: peer 3 is not there since line 1");
}

}  // namespace
}  // namespace sim
