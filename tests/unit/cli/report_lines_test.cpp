#include "swarm/cli/common/report_lines.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace swarm::cli {
namespace {

const PeerId kPeer{{0xffffffffffffffff, 0, 1, 0x0123456789abcdef}};

template <class Report>
Report there_and_back(const Report& report) {
    const std::string line = to_line(report);
    EXPECT_EQ(line.find('\n'), line.size() - 1) << line;
    const std::optional<TrainReport> parsed = parse_report(line);
    EXPECT_TRUE(parsed && std::holds_alternative<Report>(*parsed)) << line;
    return std::get<Report>(*parsed);
}

TEST(ReportLines, CarryALossBitForBit) {
    const double losses[] = {
        0.1,
        1.0 / 3,
        5.5451774444795618,
        std::numeric_limits<double>::denorm_min(),
        -0.0,
        std::numeric_limits<double>::infinity()};
    for (const double loss : losses) {
        node::StepCommitted step;
        step.step = std::numeric_limits<std::uint64_t>::max();
        step.loss = loss;
        step.took = std::chrono::milliseconds(3);
        step.counted = 8;
        const node::StepCommitted read = there_and_back(step);
        EXPECT_EQ(read.loss, loss);
        EXPECT_EQ(std::signbit(read.loss), std::signbit(loss));
        EXPECT_EQ(read.step, step.step);
        EXPECT_EQ(read.took, step.took);
        EXPECT_EQ(read.counted, 8U);
        EXPECT_FALSE(read.wire_bytes);
        step.wire_bytes = 1ULL << 40;
        EXPECT_EQ(there_and_back(step).wire_bytes, step.wire_bytes);
    }
}

TEST(ReportLines, CarryPeersAndReasons) {
    const node::PeerChanged read = there_and_back(node::PeerChanged{
        kPeer, {2}, node::PeerChange::Fenced, "said \"no\"\n", {2, 1, 0}});
    EXPECT_EQ(read.peer, kPeer);
    EXPECT_EQ(read.stage, StageIndex{2});
    EXPECT_EQ(read.change, node::PeerChange::Fenced);
    EXPECT_EQ(read.reason, "said \"no\"\n");
    EXPECT_EQ(read.peers_per_stage, (std::vector<std::uint32_t>{2, 1, 0}));
}

TEST(ReportLines, CarryTheEndOfPatience) {
    const PatienceOver read = there_and_back(PatienceOver{9, "no better \"loss\""});
    EXPECT_EQ(read.step, 9U);
    EXPECT_EQ(read.reason, "no better \"loss\"");
}

TEST(ReportLines, CarryAnEvaluationBitForBit) {
    const HeldOutFound read =
        there_and_back(HeldOutFound{50, 0.1, true, {{"a", 1.0 / 3, 0.7}, {"b", 2.0}}});
    EXPECT_EQ(read.step, 50U);
    EXPECT_EQ(read.loss, 0.1);
    EXPECT_TRUE(read.is_best);
    ASSERT_EQ(read.texts.size(), 2U);
    EXPECT_EQ(read.texts[0].name, "a");
    EXPECT_EQ(read.texts[0].loss, 1.0 / 3);
    EXPECT_EQ(read.texts[0].bits_per_byte, 0.7);
    EXPECT_FALSE(read.texts[1].bits_per_byte);
    EXPECT_FALSE(parse_report(R"({"kind":"held_out","step":1,"loss":"0","best":0,"texts":[1]})"));
}

TEST(ReportLines, CarryAllOtherReports) {
    const StagesCut cut = there_and_back(StagesCut{49, {3, 2, 1}});
    EXPECT_EQ(cut.step, 49U);
    EXPECT_EQ(cut.layers_per_stage, (std::vector<std::uint32_t>{3, 2, 1}));
    const Listening listening = there_and_back(Listening{"127.0.0.1:4711", "me@127.0.0.1:4711"});
    EXPECT_EQ(listening.address, "127.0.0.1:4711");
    EXPECT_EQ(listening.join, "me@127.0.0.1:4711");
    const node::WorkCounted share = there_and_back(node::WorkCounted{3, kPeer, {1}, 5, 0.1});
    EXPECT_EQ(share.microbatches, 5U);
    EXPECT_EQ(share.units_per_s, 0.1);
    const node::ShareLost lost = there_and_back(node::ShareLost{kPeer, {2}, 9});
    EXPECT_EQ(lost.peer, kPeer);
    EXPECT_EQ(lost.stage, StageIndex{2});
    EXPECT_EQ(lost.microbatches, 9U);
    EXPECT_EQ(there_and_back(node::RunFailed{4, "nobody"}).exit_code, 4);
    const node::StepSkipped skip = there_and_back(node::StepSkipped{7, "a \"NaN\"", Duration(5)});
    EXPECT_EQ(skip.step, 7U);
    EXPECT_EQ(skip.reason, "a \"NaN\"");
    EXPECT_EQ(skip.took, Duration(5));
    Digest digest;
    digest.bytes[0] = std::byte{0xab};
    digest.bytes[31] = std::byte{0x01};
    const node::RunFinished finished = there_and_back(node::RunFinished{{1, 60}, digest});
    EXPECT_EQ(finished.weights_sha256, digest);
    EXPECT_EQ(finished.version, (ParameterVersion{1, 60}));
}

TEST(ReportLines, RefuseTextThatIsNoReport) {
    for (const char* line :
         {"",
          "{",
          "[]",
          "{}",
          R"({"kind":"step"})",
          R"({"kind":"dance"})",
          R"({"kind":"listening","address":7})",
          R"({"kind":"finished","gen":0,"step":1,"weights_sha256":"ab"})",
          R"({"kind":"failed","exit_code":1e99,"text":""})"}) {
        EXPECT_FALSE(parse_report(line)) << line;
    }
}

TEST(ReportLines, LeaveOutReportsForThisProcessOnly) {
    EXPECT_FALSE(as_train_report(node::LogLine{}));
    EXPECT_TRUE(as_train_report(node::StepCommitted{}));
}

}  // namespace
}  // namespace swarm::cli
