// The figures that a run leaves in its folder: other programs read them. TensorBoard's own reader
// (PyPI tensorboard, which ./swarm.sh test fetches) gives back what metrics.jsonl says.
#include "swarm/cli/common/files.hpp"
#include "swarm/cli/metrics/metrics_files.hpp"
#include "tests/places.hpp"
#include "tests/process/train_bed.hpp"

#include <boost/json.hpp>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

namespace swarm::test {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;
using std::chrono::seconds;

class MetricsTest : public TrainBed {
 protected:
    void run(std::vector<std::string> arguments) {
        Program program(std::move(arguments), folder.path());
        ASSERT_EQ(program.wait(seconds(60)), 0) << program.err();
    }

    void train_alone(const std::string& steps, bool resume) {
        std::vector<std::string> arguments{
            "train", "--single", "--dir", directory.string(), "--steps", steps};
        const std::vector<std::string> more =
            resume ? std::vector<std::string>{"--resume"}
                   : std::vector<std::string>{
                         "--model", "oracle", "--checkpoint-every", "5", "--stages", "2"};
        arguments.insert(arguments.end(), more.begin(), more.end());
        run(arguments);
    }

    [[nodiscard]] std::vector<cli::StepMetrics> metrics() const {
        const auto text = cli::read_file(directory / cli::kMetricsFile, 1 << 20);
        EXPECT_TRUE(text) << directory;
        const auto read = cli::parse_metrics(text ? *text : "");
        EXPECT_TRUE(read);
        return read ? *read : std::vector<cli::StepMetrics>{};
    }

    /// Reads the folder as TensorBoard does: {tag: [[step, value], ...]}.
    json::value read_by_tensorboard() const {
        const fs::path python = cli::cache_folder() / "readers-2" / "bin" / "python";
        EXPECT_TRUE(fs::exists(python)) << python << " is missing: run ./swarm.sh test";
        const fs::path out = folder.path() / "events.json";
        const std::string command = python.string() + " " + source_dir() +
                                    "/tests/process/views/read_events.py" + " " +
                                    directory.string() + " > " + out.string();
        EXPECT_EQ(std::system(command.c_str()), 0) << command;
        return json::parse(read_text(out));
    }
};

TEST_F(MetricsTest, EveryStepOfEveryProcessIsReadBackByTensorBoard) {
    train_alone("12", false);
    train_alone("20", true);
    const std::vector<cli::StepMetrics> steps = metrics();
    ASSERT_EQ(steps.size(), 20U);
    const json::value read = read_by_tensorboard();
    for (const auto& [tag, of] :
         std::vector<std::pair<std::string, double (*)(const cli::StepMetrics&)>>{
             {"loss", [](const cli::StepMetrics& m) { return m.loss.value_or(-1); }},
             {"lr", [](const cli::StepMetrics& m) { return m.learning_rate; }},
             {"grad_norm", [](const cli::StepMetrics& m) { return m.gradient_norm; }},
             {"tokens_per_s", [](const cli::StepMetrics& m) { return m.tokens_per_s; }},
             {"replayed", [](const cli::StepMetrics&) { return 0.0; }}}) {
        const json::array& values = read.at(tag).as_array();
        ASSERT_EQ(values.size(), steps.size()) << tag;
        for (std::size_t i = 0; i < steps.size(); ++i) {
            const json::array& pair = values[i].as_array();
            EXPECT_EQ(pair[0].to_number<std::uint64_t>(), steps[i].step) << tag;
            EXPECT_FLOAT_EQ(pair[1].to_number<float>(), static_cast<float>(of(steps[i]))) << tag;
        }
    }
}

TEST_F(MetricsTest, RunsAreListedAndCompared) {
    train_alone("12", false);
    const fs::path list = folder.path() / "runs.json";
    const fs::path above = directory.parent_path();
    run({"runs", above.string(), "--json", list.string()});
    const json::value listed = json::parse(read_text(list)).at("runs").at(0);
    const std::vector<cli::StepMetrics> steps = metrics();
    EXPECT_EQ(listed.at("step"), 12);
    EXPECT_EQ(listed.at("steps"), 12);
    EXPECT_EQ(listed.at("state"), "done");
    EXPECT_EQ(listed.at("loss").to_number<double>(), steps.back().loss);
    EXPECT_EQ(listed.at("folder").as_string(), directory.string());
    run({"runs", "--compare", directory.string(), directory.string(), "--json", list.string()});
    const json::value compared = json::parse(read_text(list));
    EXPECT_TRUE(compared.at("keys").as_array().empty());
    EXPECT_EQ(compared.at("losses").as_array().size(), steps.size());
    Program none({"runs", (folder.path() / "nothing").string()}, folder.path());
    EXPECT_EQ(none.wait(seconds(10)), 3);
    EXPECT_EQ(count_lines(none.err()), 1U) << none.err();
}

TEST_F(MetricsTest, PlotDrawsRunsAndSaysWhatIsNoRun) {
    train_alone("12", false);
    const fs::path svg = folder.path() / "loss.svg";
    run({"plot", directory.string(), directory.string(), "-o", svg.string(), "--smooth", "3"});
    EXPECT_NE(read_text(svg).find("loss per token"), std::string::npos);
    Program none({"plot", folder.path().string()}, folder.path());
    EXPECT_EQ(none.wait(seconds(10)), 3);
    EXPECT_NE(none.err().find("metrics.jsonl"), std::string::npos) << none.err();
}

}  // namespace
}  // namespace swarm::test
