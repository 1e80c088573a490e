// The long tests with real processes: minutes of faults, and the shares that policies give.
#include "swarm/base/rng.hpp"
#include "tests/process/local_run.hpp"
#include "tests/unit/net/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <fstream>
#include <iostream>
#include <map>
#include <memory>

namespace swarm::test {
namespace {

using std::chrono::seconds;

double longest_step(const boost::json::object& report) {
    double longest = 0;
    for (const boost::json::value& step : report.at("steps").as_array()) {
        if (step.at("replayed").to_number<int>() == 0) {
            longest = std::max(longest, step.at("seconds").as_double());
        }
    }
    return longest;
}

TEST(Soak, AHundredKillsLoseNothing) {
    const LocalRun run = run_local(
        {"--stages",
         "2",
         "--peers",
         "6",
         "--steps",
         "390",
         "--service-ms",
         "20",
         "--kill-every",
         "3s",
         "--verify"},
        seconds(800)
    );
    expect_exact(run);
    EXPECT_GE(run.report.at("kills").to_number<int>(), 100);
    std::vector<double> recoveries;
    for (const boost::json::value& recovery : run.report.at("recovery_s").as_array()) {
        recoveries.push_back(recovery.as_double());
    }
    ASSERT_FALSE(recoveries.empty());
    std::sort(recoveries.begin(), recoveries.end());
    const double p95 = recoveries[recoveries.size() * 95 / 100];
    std::cout << recoveries.size() << " kills; to the next commit: median "
              << recoveries[recoveries.size() / 2] << " s, p95 " << p95 << " s\n";
    EXPECT_LE(p95, 4.0 + longest_step(run.report));
}

TEST(Soak, TwentyKilledCoordinatorsLoseNothing) {
    const TemporaryFolder folder;
    const std::string address = "127.0.0.1:" + std::to_string(free_port());
    const std::string directory = (folder.path() / "run").string();
    const auto train = [&](std::vector<std::string> more) {
        more.insert(more.begin(), {"train", "--listen", address, "--dir", directory});
        return std::make_unique<Program>(std::move(more), folder.path());
    };
    auto coordinator = train(
        {"--model",
         "oracle",
         "--stages",
         "2",
         "--steps",
         "400",
         "--checkpoint-every",
         "10",
         "--min-peers",
         "4"}
    );
    std::vector<std::unique_ptr<Program>> peers;
    for (int i = 0; i < 4; ++i) {
        peers.push_back(std::make_unique<Program>(
            std::vector<std::string>{
                "serve", "--join", address, "--listen", "127.0.0.1:0", "--service-ms", "5"},
            folder.path()
        ));
    }
    Rng rng(1, 20);
    for (int i = 0; i < 20; ++i) {
        // The kill comes after a step of this process, or a moment after its start.
        const std::string moment = "step " + std::to_string(20 * i + 1 + rng.below(19)) + "/";
        coordinator->wait_for_text(moment, seconds(2 + static_cast<int>(rng.below(3))));
        coordinator->signal(SIGKILL);
        ASSERT_EQ(coordinator->wait(seconds(10)), 128 + SIGKILL) << coordinator->err();
        coordinator = train({"--resume"});
    }
    ASSERT_EQ(coordinator->wait(seconds(200)), 0) << coordinator->err();
    Program single(
        {"train",
         "--single",
         "--model",
         "oracle",
         "--stages",
         "2",
         "--steps",
         "400",
         "--dir",
         (folder.path() / "single").string()},
        folder.path()
    );
    ASSERT_EQ(single.wait(seconds(60)), 0) << single.err();
    const auto hash = [](const std::string& out) { return out.substr(out.rfind(' ')); };
    EXPECT_EQ(hash(coordinator->out()), hash(single.out()));
}

/// Returns the mean time of the steps [first, last).
double mean_step_s(const boost::json::object& report, std::size_t first, std::size_t last) {
    double sum = 0;
    for (std::size_t i = first; i < last; ++i) {
        sum += report.at("steps").at(i).at("seconds").as_double();
    }
    return sum / static_cast<double>(last - first);
}

/// This run needs LibTorch; the errors of its codec depend on the place of the boundary.
TEST(Soak, ALopsidedSplitIsCutAnewAndRepeatedByOneProcess) {
    const TemporaryFolder folder;
    const std::string file = folder.path() / "run.toml";
    std::ofstream(file) << "model = \"demo\"\n[run]\nstages = 2\nsteps = 250\ncodec = \"int8\"\n"
                           "split = \"measured\"\nlayers_per_stage = [1, 5]\n";
    const LocalRun run = run_local({file, "--peers", "2", "--verify"}, seconds(500));
    expect_exact(run);
    const double before_s = mean_step_s(run.report, 5, 20);
    const double after_s = mean_step_s(run.report, 220, 240);
    std::cout << "step: " << before_s << " s, " << after_s << " s\n";
    EXPECT_LT(after_s, 0.9 * before_s);
}

/// Trains one step of 400 microbatches in one stage of three peers. Returns figures by service
/// time.
struct Shares {
    double step_s = 0;
    std::map<int, double> by_service_ms;
    std::map<int, int> microbatches;
};

Shares measure_shares(const std::string& policy) {
    const LocalRun run = run_local(
        {"--stages",
         "1",
         "--peers",
         "3",
         "--steps",
         "1",
         "--microbatches",
         "400",
         "--in-flight",
         "12",
         "--service-ms",
         "40,80,160",
         "--policy",
         policy},
        seconds(200)
    );
    EXPECT_EQ(run.exit_code, 0) << run.err;
    Shares shares;
    shares.step_s = run.report.at("steps").at(0).at("seconds").as_double();
    for (const boost::json::value& peer : run.report.at("peers").as_array()) {
        const int service_ms = peer.at("service_ms").to_number<int>();
        shares.by_service_ms[service_ms] = peer.at("share").as_double();
        shares.microbatches[service_ms] = peer.at("microbatches").to_number<int>();
    }
    std::cout << policy << ": " << shares.step_s << " s, shares " << shares.by_service_ms[40] << " "
              << shares.by_service_ms[80] << " " << shares.by_service_ms[160] << "\n";
    return shares;
}

constexpr double kIdealSeconds = 27.4;  // 400 x 3 / (1/40 + 1/80 + 1/160) ms

TEST(Shares, IwrrFollowsTheSpeeds) {
    Shares shares = measure_shares("iwrr");
    EXPECT_NEAR(shares.by_service_ms[40], 4.0 / 7, 0.1 * 4 / 7);
    EXPECT_NEAR(shares.by_service_ms[80], 2.0 / 7, 0.1 * 2 / 7);
    EXPECT_NEAR(shares.by_service_ms[160], 1.0 / 7, 0.1 * 1 / 7);
}

TEST(Shares, ExpectedFinishIsCloseToTheIdealTime) {
    Shares shares = measure_shares("expected_finish");
    EXPECT_LE(shares.step_s, 1.05 * kIdealSeconds);
    for (const auto& [service_ms, microbatches] : shares.microbatches) {
        EXPECT_GE(microbatches, 400 / 50) << service_ms;
    }
}

TEST(Shares, UniformWaitsForTheSlowest) {
    EXPECT_GT(measure_shares("uniform").step_s, 1.5 * kIdealSeconds);
}

}  // namespace
}  // namespace swarm::test
