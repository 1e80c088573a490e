// A kill at each of 64 tokens and a freeze at each eighth, both ways of replay: an hour's worth of
// bad luck in some minutes. Prints how fast sessions went on. Needs the model in the cache.
#include "tests/golden/model_file.hpp"
#include "tests/process/program.hpp"
#include "tests/unit/net/temporary_folder.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

namespace swarm::test {
namespace {

namespace json = boost::json;
using std::chrono::seconds;

constexpr std::uint32_t kTokens = 65;  // the last one is told, and nobody is needed any more

struct Losses {
    std::vector<double> detected_ms;
    std::vector<double> resumed_ms;
    std::size_t equal = 0;
};

class StackSoakTest : public testing::TestWithParam<const char*> {
 protected:
    void SetUp() override {
        ASSERT_TRUE(std::filesystem::exists(golden::smollm2_file())) << golden::kFetchIt;
    }

    /// One text with one fault.
    void run(const std::string& fault, std::uint32_t token, Losses& losses) {
        const std::filesystem::path file = folder.path() / "out.json";
        Program program(
            {"local",
             "--model",
             "smollm2",
             "--stages",
             "3",
             "--peers",
             "6",
             "--raw",
             "--tokens",
             std::to_string(kTokens),
             "--prompt",
             "Once upon a time",
             "--replay",
             GetParam(),
             fault,
             std::to_string(token),
             "--verify",
             "--json",
             file.string()},
            folder.path()
        );
        ASSERT_EQ(program.wait(seconds(120)), 0) << program.err();
        const json::object report = json::parse(read_text(file)).as_object();
        losses.equal += report.at("verified").as_bool() ? 1 : 0;
        ASSERT_EQ(report.at("faults").as_array().size(), 1U);
        ASSERT_GE(report.at("moves").as_array().size(), 1U) << fault << " at " << token;
        const json::value& move = report.at("moves").at(0);
        losses.detected_ms.push_back(move.at("detected_ms").as_double());
        losses.resumed_ms.push_back(move.at("resumed_ms").as_double());
    }

    void print(const char* what, Losses& losses) {
        std::sort(losses.detected_ms.begin(), losses.detected_ms.end());
        std::sort(losses.resumed_ms.begin(), losses.resumed_ms.end());
        const std::size_t middle = losses.detected_ms.size() / 2;
        std::printf(
            "%s, %s: %zu of %zu equal; noticed after %.0f ms (worst %.0f), the next token %.0f ms "
            "later (worst %.0f)\n",
            GetParam(),
            what,
            losses.equal,
            losses.detected_ms.size(),
            losses.detected_ms[middle],
            losses.detected_ms.back(),
            losses.resumed_ms[middle],
            losses.resumed_ms.back()
        );
    }

    TemporaryFolder folder;
};

TEST_P(StackSoakTest, AKillAtEachTokenIsSurvived) {
    Losses losses;
    for (std::uint32_t token = 1; token < kTokens && !HasFatalFailure(); ++token) {
        run("--kill-at", token, losses);
    }
    ASSERT_FALSE(losses.detected_ms.empty());
    print("kills", losses);
    EXPECT_EQ(losses.equal, kTokens - 1);
}

TEST_P(StackSoakTest, AFreezeAtEachEighthTokenIsSurvived) {
    Losses losses;
    for (std::uint32_t token = 8; token < kTokens && !HasFatalFailure(); token += 8) {
        run("--freeze-at", token, losses);
    }
    ASSERT_FALSE(losses.detected_ms.empty());
    print("freezes", losses);
    EXPECT_EQ(losses.equal, 8U);
}

INSTANTIATE_TEST_SUITE_P(Replay, StackSoakTest, testing::Values("exact", "fast"));

}  // namespace
}  // namespace swarm::test
