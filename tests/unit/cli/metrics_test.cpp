#include "swarm/cli/common/files.hpp"
#include "swarm/cli/metrics/metrics_files.hpp"
#include "tests/unit/net/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <limits>
#include <string>
#include <vector>

namespace swarm::cli {
namespace {

namespace fs = std::filesystem;

StepMetrics metrics_of(std::uint64_t step, double loss) {
    StepMetrics metrics;
    metrics.step = step;
    metrics.loss = loss;
    return metrics;
}

node::StepCommitted committed(std::uint64_t step, double loss) {
    node::StepCommitted made;
    made.step = step;
    made.loss = loss;
    made.took = std::chrono::milliseconds(500);
    made.counted = 8;
    made.replayed = 3;
    return made;
}

TEST(StepMetrics, AreReadAsTheyWereWritten) {
    StepMetrics written = metrics_of(7, 0.1);
    written.unix_time_s = 1764190000.25;
    written.learning_rate = 3e-3;
    written.peers_per_stage = {2, 1};
    written.wire_bytes = 1ULL << 40;
    written.replayed = 4;
    const auto read = parse_metrics(to_line(written));
    ASSERT_TRUE(read && read->size() == 1);
    const StepMetrics& one = read->front();
    EXPECT_EQ(one.step, 7U);
    EXPECT_EQ(one.loss, 0.1);
    EXPECT_EQ(one.unix_time_s, written.unix_time_s);
    EXPECT_EQ(one.learning_rate, 3e-3);
    EXPECT_EQ(one.peers_per_stage, written.peers_per_stage);
    EXPECT_EQ(one.wire_bytes, written.wire_bytes);
    EXPECT_EQ(one.replayed, 4U);
}

TEST(StepMetrics, WithoutALossAreAGap) {
    StepMetrics skipped;
    skipped.step = 1;
    skipped.skipped = "a gradient is not finite";
    const auto read = parse_metrics(
        to_line(skipped) + to_line(metrics_of(2, std::numeric_limits<double>::quiet_NaN()))
    );
    ASSERT_TRUE(read && read->size() == 2);
    EXPECT_FALSE((*read)[0].loss);
    EXPECT_EQ((*read)[0].skipped, skipped.skipped);
    EXPECT_FALSE((*read)[1].loss);
}

TEST(StepMetrics, ARunThatWentBackHasItsLastWordForEachStep) {
    std::string text;
    for (const double loss : {3.0, 2.0, 1.0}) {
        text += to_line(metrics_of(4 - static_cast<std::uint64_t>(loss), loss));
    }
    text += to_line(metrics_of(2, 1.5));
    const auto read = parse_metrics(text);
    ASSERT_TRUE(read && read->size() == 2);
    EXPECT_EQ(read->back().step, 2U);
    EXPECT_EQ(read->back().loss, 1.5);
}

TEST(StepMetrics, ATornLineIsLeftOutAndAnotherFileRefused) {
    const std::string line = to_line(metrics_of(1, 2.0));
    const auto torn = parse_metrics(line + line.substr(0, 9));
    ASSERT_TRUE(torn);
    EXPECT_EQ(torn->size(), 1U);
    const auto other = parse_metrics(line + "[1, 2]\n");
    ASSERT_FALSE(other);
    EXPECT_EQ(other.error().detail, "line 2 is no line of metrics.jsonl");
    EXPECT_FALSE(parse_metrics("{\"loss\": 1}\n"));
}

TEST(StepMetrics, AnEvaluationBelongsToTheStepBefore) {
    const HeldOutFound found{2, 3.25, true, {{"a.txt", 3.0, 1.5}, {"b.txt", 3.5}}};
    const auto read = parse_metrics(
        to_line(metrics_of(1, 4)) + to_line(metrics_of(2, 3)) + to_line(found, 1.0) +
        to_line(metrics_of(3, 2))
    );
    ASSERT_TRUE(read && read->size() == 3);
    EXPECT_FALSE((*read)[0].held_out);
    EXPECT_EQ((*read)[1].held_out, 3.25);
    EXPECT_EQ((*read)[1].loss, 3);
    EXPECT_FALSE((*read)[2].held_out);
    const std::string line = to_line(found, 1.0);
    EXPECT_NE(line.find("\"bits_per_byte\":1.5E0"), std::string::npos) << line;
    EXPECT_NE(line.find("\"perplexity\":"), std::string::npos) << line;
}

class MetricsFilesTest : public testing::Test {
 protected:
    [[nodiscard]] std::string lines() const {
        const Result<std::string> text = read_file(folder_.path() / kMetricsFile, 1 << 20);
        return text ? *text : "";
    }

    [[nodiscard]] std::size_t event_files() const {
        std::size_t count = 0;
        for (const auto& entry : fs::directory_iterator(folder_.path())) {
            count += entry.path().filename().string().starts_with("events.out.tfevents.");
        }
        return count;
    }

    run::RunConfig config() const {
        run::RunConfig made;
        made.model.context = 10;
        made.batch = 2;
        made.microbatches = 5;
        return made;
    }

    swarm::test::TemporaryFolder folder_;
    Console console_;
};

TEST_F(MetricsFilesTest, EachStepIsALineAndARecord) {
    MetricsFiles files(folder_.path(), config(), console_);
    EXPECT_EQ(event_files(), 0U) << "a run that makes no step leaves no file";
    node::PeerChanged changed;
    changed.peers_per_stage = {3, 2};
    files.add(changed, 1000);
    files.add(committed(0, 2.5), 1000);
    files.add(node::StepSkipped{1, "why", std::chrono::seconds(1)}, 1001);
    const auto read = parse_metrics(lines());
    ASSERT_TRUE(read && read->size() == 2);
    EXPECT_EQ((*read)[0].step, 1U);
    EXPECT_EQ((*read)[0].tokens_per_s, 200);
    EXPECT_EQ((*read)[0].peers_per_stage, (std::vector<std::uint32_t>{3, 2}));
    EXPECT_GT((*read)[0].learning_rate, 0);
    EXPECT_EQ((*read)[1].skipped, "why");
    EXPECT_EQ(event_files(), 1U);
}

TEST_F(MetricsFilesTest, ALoopedStepSaysSo) {
    run::RunConfig looped = config();
    looped.loop.every = 2;
    MetricsFiles files(folder_.path(), looped, console_);
    for (std::uint64_t step = 0; step < 4; ++step) {
        files.add(committed(step, 2.5), 1000);
    }
    const auto read = parse_metrics(lines());
    ASSERT_TRUE(read && read->size() == 4);
    for (const StepMetrics& step : *read) {
        EXPECT_EQ(step.looped, step.step % 2 == 0) << step.step;
    }
}

TEST_F(MetricsFilesTest, TheNextProcessGoesOnBehindTheLastWholeLine) {
    MetricsFiles(folder_.path(), config(), console_).add(committed(0, 2.5), 1000);
    std::ofstream(folder_.path() / kMetricsFile, std::ios::app) << "{\"step\":2,\"lo";
    MetricsFiles(folder_.path(), config(), console_).add(committed(1, 2.0), 1000);
    const auto read = parse_metrics(lines());
    ASSERT_TRUE(read && read->size() == 2);
    EXPECT_EQ((*read)[1].loss, 2.0);
    EXPECT_EQ(event_files(), 2U) << "two processes in one second";
}

TEST_F(MetricsFilesTest, ADiskThatFailsIsOneWarning) {
    testing::internal::CaptureStderr();
    {
        Console console;
        MetricsFiles files(folder_.path() / "gone", config(), console);
        files.add(committed(0, 2.5), 1000);
        files.add(committed(1, 2.5), 1001);
    }
    const std::string said = testing::internal::GetCapturedStderr();
    EXPECT_NE(
        said.find("metrics.jsonl: No such file or directory; the run goes on"), std::string::npos
    ) << said;
    EXPECT_EQ(said.find("warning"), said.rfind("warning")) << said;
}

}  // namespace
}  // namespace swarm::cli
