// Runs `swarm-bench quality` like a developer, with few steps.
#include "tests/places.hpp"
#include "tests/process/program.hpp"
#include "tests/unit/net/temporary_folder.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <gtest/gtest.h>

#include <cmath>
#include <csignal>

namespace swarm::test {
namespace {

namespace json = boost::json;
using std::chrono::seconds;

const std::string kBench = "swarm-bench";
/// Some text of ordinary English.
const std::string kText = source_dir() + "/LICENSE";

class BenchQuality : public testing::Test {
 protected:
    [[nodiscard]] std::vector<std::string> quality(std::vector<std::string> more) const {
        std::vector<std::string> all{"quality", "--json", json_file};
        all.insert(all.end(), more.begin(), more.end());
        return all;
    }

    [[nodiscard]] json::object report() const {
        return json::parse(read_text(json_file)).as_object();
    }

    TemporaryFolder folder;
    std::string json_file = (folder.path() / "quality.json").string();
    std::string svg_file = (folder.path() / "quality.svg").string();
};

double number(const json::value& value) {
    return value.to_number<double>();
}

TEST_F(BenchQuality, ComparesACodecWithNone) {
    Program program(
        quality(
            {"--corpus",
             kText,
             "--steps",
             "4",
             "--seeds",
             "1",
             "--codecs",
             "int8",
             "--svg",
             svg_file}
        ),
        folder.path(),
        kBench
    );
    ASSERT_EQ(program.wait(seconds(200)), 0) << program.err();
    EXPECT_EQ(count_lines(program.out()), 2U) << program.out();
    const json::object made = report();
    EXPECT_TRUE(made.at("stopped").is_null());
    EXPECT_TRUE(made.at("modes").as_array().empty()) << "a codec was asked for";
    ASSERT_EQ(made.at("rows").as_array().size(), 2U);
    const json::object& none = made.at("rows").at(0).as_object();
    const json::object& int8 = made.at("rows").at(1).as_object();
    // 4 sequences x 128 tokens x 128 wide.
    EXPECT_EQ(number(none.at("forward_bytes")), 4 * 65'536);
    EXPECT_EQ(number(int8.at("forward_bytes")), 65'536 + 4 * 1024);
    // The loss falls from the logarithm of 256, which is that of a model that knows nothing.
    EXPECT_NEAR(number(none.at("curve").at(0).at(1)), std::log(256), 0.2);
    EXPECT_LT(number(none.at("held_out_loss")), 5.4);
    EXPECT_LT(std::abs(number(int8.at("held_out_percent"))), 0.5);
    EXPECT_NE(number(int8.at("held_out_percent")), 0) << "it was trained with int8";
    EXPECT_GT(number(none.at("compute_s")), 0);
    EXPECT_LT(number(int8.at("step_s")), number(none.at("step_s")));
    EXPECT_LT(number(int8.at("equal_time_loss")), number(none.at("equal_time_loss")));
    EXPECT_NE(read_text(svg_file).find(">int8<"), std::string::npos);
}

TEST_F(BenchQuality, ComparesModeSparseWithExact) {
    Program program(
        quality({"--corpus", kText, "--steps", "10", "--seeds", "1", "--modes", "sparse"}),
        folder.path(),
        kBench
    );
    ASSERT_EQ(program.wait(seconds(200)), 0) << program.err();
    EXPECT_EQ(count_lines(program.out()), 3U) << program.out();
    const json::object made = report();
    ASSERT_EQ(made.at("rows").as_array().size(), 1U) << "no codec was asked for";
    EXPECT_NE(program.err().find("2 of 2: sparse, seed 1"), std::string::npos) << program.err();
    const json::object& none = made.at("rows").at(0).as_object();
    ASSERT_EQ(made.at("modes").as_array().size(), 2U);
    const json::object& exact = made.at("modes").at(0).as_object();
    const json::object& sparse = made.at("modes").at(1).as_object();
    // The largest stage has 428,672 weights: a replica sends half of their sums, packed, and half
    // of the values.
    EXPECT_NEAR(number(exact.at("sync_bytes_per_step")), 428'672 * 7.3 / 2, 1);
    // A replica sends 116 bytes for each 4,096 weights, and some for each tensor, to one other
    // replica.
    EXPECT_NEAR(number(sparse.at("sync_bytes_per_step")), 428'672.0 / 4096 * 116 / 8, 20);
    EXPECT_EQ(exact.at("curve"), none.at("curve"));
    EXPECT_LT(number(exact.at("step_s")), number(none.at("step_s"))) << "it has two peers a stage";
    EXPECT_LT(number(sparse.at("step_s")), number(exact.at("step_s")));
    // The bench tries its weights at two exchanges: the first one, and that of the last step.
    const json::array& curve = sparse.at("curve").as_array();
    ASSERT_EQ(curve.size(), 3U);
    EXPECT_EQ(number(curve[1].at(0)), 8);
    EXPECT_EQ(number(curve[2].at(0)), 10);
    EXPECT_EQ(curve[0], none.at("curve").at(0)) << "nothing is trained yet";
    EXPECT_LT(number(curve[1].at(1)), number(curve[0].at(1)));
    EXPECT_LT(number(sparse.at("held_out_loss")), 5.4);
    EXPECT_NE(number(sparse.at("held_out_percent")), 0) << "its replicas were apart";
}

TEST_F(BenchQuality, KeepsFinishedRunsWhenInterrupted) {
    Program program(
        quality({"--corpus", kText, "--steps", "2", "--seeds", "99"}), folder.path(), kBench
    );
    ASSERT_TRUE(program.wait_for_text("none, seed 1", seconds(120))) << program.err();
    program.signal(SIGINT);
    EXPECT_EQ(program.wait(seconds(30)), 130) << program.err();
    const json::object made = report();
    EXPECT_EQ(made.at("stopped"), "interrupted");
    EXPECT_GE(made.at("rows").as_array().size(), 1U);
    EXPECT_EQ(made.at("rows").at(0).at("name"), "none");
}

TEST_F(BenchQuality, ReportsAnErrorInOneLine) {
    const auto said = [&](const std::vector<std::string>& flags, int exit_code) {
        Program program(quality(flags), folder.path(), kBench);
        EXPECT_EQ(program.wait(seconds(30)), exit_code) << program.err();
        return program.err();
    };
    EXPECT_NE(said({"--codecs", "int8,zip"}, 2).find("must be one of none, "), std::string::npos);
    EXPECT_NE(said({"--codecs", "auto"}, 2).find("must be one of none, "), std::string::npos);
    EXPECT_NE(said({"--modes", "exact"}, 2).find("--modes"), std::string::npos);
    EXPECT_NE(said({"--line", "fast"}, 2).find("wants a rate"), std::string::npos);
    EXPECT_NE(said({"--line", "1Mb/s,2Mb/s"}, 2).find("--line"), std::string::npos);
    EXPECT_NE(said({"--corpus", "/nowhere"}, 1).find("/nowhere"), std::string::npos);
    EXPECT_NE(
        said({"--corpus", kText, "--svg", "/nowhere/a.svg"}, 1).find("cannot write"),
        std::string::npos
    );
}

}  // namespace
}  // namespace swarm::test
