// A peer is killed at each of 64 tokens and frozen at each eighth, with both ways of replay. Prints
// how fast sessions went on, also after a long text, and the cost of long lines. The model must be
// in the cache.
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

constexpr std::uint32_t kTokens = 65;  // no peer is needed any more at the last one

struct Losses {
    std::vector<double> detected_ms;
    std::vector<double> resumed_ms;
    std::size_t equal = 0;
};

/// Peers of this machine serve SmolLM2.
class Served : public testing::Test {
 protected:
    void SetUp() override {
        ASSERT_TRUE(std::filesystem::exists(golden::smollm2_file())) << golden::kFetchIt;
    }

    /// Returns the share of a text of so many tokens that was written.
    json::object local(std::uint32_t tokens, const std::vector<std::string>& how) {
        const std::filesystem::path file = folder.path() / "out.json";
        std::vector<std::string> arguments{
            "local",
            "--model",
            "smollm2",
            "--raw",
            "--tokens",
            std::to_string(tokens),
            "--prompt",
            "Once upon a time",
            "--verify",
            "--guesses",  // else several tokens come at once, and faults fall between them
            "0",
            "--json",
            file.string()};
        arguments.insert(arguments.end(), how.begin(), how.end());
        Program program(arguments, folder.path());
        EXPECT_EQ(program.wait(seconds(120)), 0) << program.err();
        return json::parse(read_text(file)).as_object();
    }

    TemporaryFolder folder;
};

class ServedModelSoakTest : public Served, public testing::WithParamInterface<const char*> {
 protected:
    /// Generates one text with one fault.
    void run(const std::string& fault, std::uint32_t token, Losses& losses) {
        const json::object report = local(
            kTokens,
            {"--stages", "3", "--peers", "6", "--replay", GetParam(), fault, std::to_string(token)}
        );
        losses.equal += report.at("verified").as_bool() ? 1 : 0;
        ASSERT_EQ(report.at("faults").as_array().size(), 1U);
        ASSERT_GE(report.at("failovers").as_array().size(), 1U) << fault << " at " << token;
        const json::value& move = report.at("failovers").at(0);
        losses.detected_ms.push_back(move.at("detect_ms").as_double());
        losses.resumed_ms.push_back(move.at("resume_ms").as_double());
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
};

TEST_P(ServedModelSoakTest, AKillAtEachTokenIsSurvived) {
    Losses losses;
    for (std::uint32_t token = 1; token < kTokens && !HasFatalFailure(); ++token) {
        run("--kill-at", token, losses);
    }
    ASSERT_FALSE(losses.detected_ms.empty());
    print("kills", losses);
    EXPECT_EQ(losses.equal, kTokens - 1);
}

TEST_P(ServedModelSoakTest, AFreezeAtEachEighthTokenIsSurvived) {
    Losses losses;
    for (std::uint32_t token = 8; token < kTokens && !HasFatalFailure(); token += 8) {
        run("--freeze-at", token, losses);
    }
    ASSERT_FALSE(losses.detected_ms.empty());
    print("freezes", losses);
    EXPECT_EQ(losses.equal, 8U);
}

/// After the loss its first hop reads 516 tokens anew, the other hops some.
TEST_F(Served, ALongTextGoesOnWithinASecond) {
    for (const char* const token : {"508", "510", "512"}) {
        const json::object report =
            local(514, {"--stages", "3", "--peers", "6", "--replay", "fast", "--kill-at", token});
        EXPECT_TRUE(report.at("verified").as_bool());
        const json::value& failover = report.at("failovers").at(0);
        const double detect_ms = failover.at("detect_ms").as_double();
        const double resume_ms = failover.at("resume_ms").as_double();
        std::printf("noticed after %.0f ms, the next token %.0f ms later\n", detect_ms, resume_ms);
        EXPECT_LT(detect_ms, 150);
        EXPECT_LT(resume_ms, 1000);
    }
}

/// A token goes to the first peer, from peer to peer, and from the last one back.
TEST_F(Served, EachHopCostsItsDelayOnce) {
    constexpr double kDelay_ms = 50;
    for (int peers = 1; peers <= 3; ++peers) {
        const std::string count = std::to_string(peers);
        const std::vector<std::string> plain{"--stages", count, "--peers", count};
        std::vector<std::string> delayed = plain;
        delayed.insert(delayed.end(), {"--line-delay", "50ms"});
        const double added_ms = local(24, delayed).at("between_hops_ms").as_double() -
                                local(24, plain).at("between_hops_ms").as_double();
        std::printf("%d peers: %.1f ms more per token\n", peers, added_ms);
        EXPECT_GE(added_ms, (peers + 1) * kDelay_ms);
        EXPECT_LE(added_ms, 1.1 * (peers + 1) * kDelay_ms);
    }
}

INSTANTIATE_TEST_SUITE_P(Replay, ServedModelSoakTest, testing::Values("exact", "fast"));

}  // namespace
}  // namespace swarm::test
