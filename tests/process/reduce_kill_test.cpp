// One of four replicas dies in the middle of a reduction of 64 MiB, and the others end with the sum
// that holds each microbatch once. Two facts show that it was the middle: at the kill the victim
// has some of its slices under way, and the coordinator logs that the reduction was aborted.
#include "tests/process/train_bed.hpp"

#include <boost/json.hpp>
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <fstream>
#include <iostream>
#include <iterator>
#include <set>
#include <sstream>
#include <system_error>

namespace swarm::test {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using std::chrono::seconds;
using Steady = std::chrono::steady_clock;

/// The other frames of such a run, heartbeats and 13 numbers per microbatch, are far smaller.
constexpr std::uint64_t kQueuedMin = 64U << 10;

constexpr const char* kRunFile = R"([run]
stages = 1
steps = 6
microbatches = 8
min_peers = 4
[model]
kind = "oracle"
layers = 1
width = 16777216
vocabulary = 2048
context = 8
)";

std::set<std::string> sockets_of(pid_t pid) {
    std::set<std::string> inodes;
    std::error_code gone;
    const fs::path files = "/proc/" + std::to_string(pid) + "/fd";
    for (const auto& file : fs::directory_iterator(files, gone)) {
        const std::string target = fs::read_symlink(file.path(), gone).string();
        if (target.starts_with("socket:[")) {
            inodes.insert(target.substr(8, target.size() - 9));
        }
    }
    return inodes;
}

/// Returns the bytes that the process has sent and no peer has taken (proc(5), /proc/net/tcp).
std::uint64_t queued_bytes(pid_t pid) {
    const std::set<std::string> own = sockets_of(pid);
    std::istringstream table(read_text("/proc/net/tcp"));
    std::uint64_t queued = 0;
    for (std::string row; std::getline(table, row);) {
        std::istringstream in(row);
        const std::vector<std::string> words{
            std::istream_iterator<std::string>(in), std::istream_iterator<std::string>()};
        if (words.size() > 9 && own.contains(words[9])) {
            queued += std::stoull(words[4], nullptr, 16);  // the number ends at the colon
        }
    }
    return queued;
}

constexpr int kAttemptsMax = 4;

class ReduceKillTest : public TrainBed {
 protected:
    /// Returns true when the victim was sending its slices and is dead.
    static bool kill_in_reduction(Program& coordinator, const Program& victim) {
        const auto end = Steady::now() + seconds(90);
        while (queued_bytes(victim.pid()) < kQueuedMin) {
            if (coordinator.wait_for_text("weights after", milliseconds(0)) ||
                Steady::now() > end) {
                return false;
            }
        }
        victim.signal(SIGKILL);
        return true;
    }

    void expect_each_microbatch_once(const fs::path& file) {
        const boost::json::value report = boost::json::parse(read_text(file));
        std::int64_t fenced = 0;
        double longest_s = 0;
        for (const auto& step : report.at("steps").as_array()) {
            EXPECT_EQ(step.at("counted"), step.at("expected")) << boost::json::serialize(step);
            fenced += step.at("fenced").to_number<std::int64_t>();
            longest_s = std::max(longest_s, step.at("seconds").as_double());
        }
        EXPECT_EQ(report.at("steps").as_array().size(), 6U);
        EXPECT_EQ(fenced, 1) << "a survivor had another state";
        std::cout << "longest step " << longest_s << " s\n";
    }
};

TEST_F(ReduceKillTest, SurvivorsEndWithTheSumThatHoldsEachMicrobatchOnce) {
    const fs::path run_file = folder.path() / "run.toml";
    const fs::path json = folder.path() / "run.json";
    std::ofstream(run_file) << kRunFile;
    Program single(
        {"train", run_file, "--single", "--dir", (folder.path() / "single").string()}, folder.path()
    );
    ASSERT_EQ(single.wait(seconds(90)), 0) << single.err();

    ASSERT_NE(weights_of(single), "");

    // A kill may come when all peers hold the sum already; then nothing is aborted, and the kill is
    // tried again.
    bool aborted = false;
    for (int attempt = 0; attempt < kAttemptsMax && !aborted; ++attempt) {
        directory = folder.path() / ("run-" + std::to_string(attempt));
        peers.clear();
        Program coordinator(train({run_file, "--json", json}), folder.path());
        start_peers(4, "0");
        ASSERT_TRUE(coordinator.wait_for_text("step 1/", seconds(90))) << coordinator.err();
        ASSERT_TRUE(kill_in_reduction(coordinator, *peers.back())) << coordinator.err();
        ASSERT_EQ(coordinator.wait(seconds(120)), 0) << coordinator.err();
        expect_each_microbatch_once(json);
        EXPECT_EQ(weights_of(coordinator), weights_of(single));
        aborted =
            coordinator.err().find("reduce aborted, a member was fenced") != std::string::npos;
    }
    EXPECT_TRUE(aborted) << "every kill came too late";
}

}  // namespace
}  // namespace swarm::test
