// A volunteer that comes late to a stage, on lines of 200 Mb/s: the download of the state uses most
// of its line, costs the peers that train little, and survives two dead donors. The model is the
// oracle, and the lines are emulated (swarm/net/emulated_lines.hpp).
#include "swarm/net/emulated_lines.hpp"
#include "tests/process/train_bed.hpp"

#include <boost/json.hpp>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <regex>
#include <sstream>

namespace swarm::test {
namespace {

using std::chrono::seconds;
using Clock = std::chrono::steady_clock;

constexpr std::uint64_t kBytesPerElement = 12;        // a weight and two moments
constexpr std::uint64_t kLineBytesPerS = 25'000'000;  // 200 Mb/s
constexpr int kDonors = 4;
constexpr std::ptrdiff_t kFirstSteps = 2;  // before the volunteer joins
/// A step computes for a minute, and adds up a gigabyte of gradients in a third of that time. Where
/// lines are busy all the time, no download can be both quick and free.
constexpr const char* kServiceMs = "1000";
constexpr int kMicrobatches = 80;
/// Share of the time that the unpacked state would take on the line. The moments of the oracle pack
/// well, so the line is idle for a part of that time.
constexpr double kShareOfLine = 0.8;
constexpr double kSlowerByMost = 1.1;
constexpr seconds kPatience(300);
constexpr std::uint64_t kStateBytes = 1ULL << 30;

class JoinerTest : public TrainBed {
 protected:
    /// Starts four donors and waits for three committed steps.
    void start() {
        const std::filesystem::path run = folder.path() / "run.toml";
        std::ofstream(run) << "[run]\nstages = 1\nsteps = 5\nmicrobatches = " << kMicrobatches
                           << "\nmin_peers = " << kDonors
                           << "\n[model]\nkind = \"oracle\"\nlayers = 1\nwidth = "
                           << kStateBytes / kBytesPerElement << "\n";
        coordinator = std::make_unique<Program>(
            train({run.string(), "--json", (folder.path() / "run.json").string()}), folder.path()
        );
        const auto at = net::parse_address(address);
        ASSERT_TRUE(at);
        const auto in_front = lines.add_front(*at);
        ASSERT_TRUE(in_front) << in_front.error().detail;
        front = net::to_text(*in_front);
        for (int i = 0; i < kDonors; ++i) {
            join();
        }
        const std::string first = "step " + std::to_string(kFirstSteps) + "/";
        ASSERT_TRUE(coordinator->wait_for_text(first, kPatience)) << coordinator->err();
    }

    /// Starts one more peer, on a line of its own.
    Program& join() {
        const auto ends = lines.add({kLineBytesPerS, kLineBytesPerS});
        EXPECT_TRUE(ends) << ends.error().detail;
        source = ends->source;
        peers.push_back(std::make_unique<Program>(
            std::vector<std::string>{
                "serve",
                "--join",
                front,
                "--listen",
                net::to_text(ends->back),
                "--advertise",
                net::to_text(ends->front),
                "--dial-from",
                ends->source,
                "--service-ms",
                kServiceMs},
            folder.path()
        ));
        return *peers.back();
    }

    /// Waits for the state of the joiner. Returns the figures of the download.
    double share_of_line(Program& joiner) {
        EXPECT_TRUE(joiner.wait_for_text("downloading the state", kPatience)) << joiner.err();
        const std::uint64_t before = lines.received_bytes(source);
        EXPECT_TRUE(joiner.wait_for_text("the state is here", kPatience)) << joiner.err();
        const auto bytes = static_cast<double>(lines.received_bytes(source) - before);
        std::smatch said;
        const std::string err = joiner.err();
        EXPECT_TRUE(std::regex_search(err, said, std::regex("MiB in ([0-9.]+) s, from")));
        const double took_s = std::stod(said[1]);
        const double line_s = double{kStateBytes} / double{kLineBytesPerS};
        std::printf(
            "the state is here after %.1f s, as it is it takes %.1f s; %.0f MB on the line\n",
            took_s,
            line_s,
            bytes / 1e6
        );
        return line_s / took_s;
    }

    std::size_t committed() {
        std::istringstream log(coordinator->err());
        std::size_t steps = 0;
        for (std::string line; std::getline(log, line);) {
            steps += line.starts_with("step ") ? 1U : 0U;
        }
        return steps;
    }

    /// Returns the duration of each step; expects each step to count every microbatch.
    std::vector<double> step_seconds() {
        EXPECT_EQ(coordinator->wait(kPatience), 0) << coordinator->err();
        const auto report = boost::json::parse(read_text(folder.path() / "run.json"));
        std::vector<double> took;
        for (const auto& step : report.at("steps").as_array()) {
            EXPECT_EQ(step.at("counted"), step.at("expected"));
            took.push_back(step.at("seconds").to_number<double>());
            std::printf("step %zu: %.2f s\n", took.size(), took.back());
        }
        return took;
    }

    net::EmulatedLines lines{std::chrono::milliseconds(5)};
    std::unique_ptr<Program> coordinator;
    std::string front;
    std::string source;  // donors of the last peer that joined
};

TEST_F(JoinerTest, UsesItsLineAndHardlySlowsTheOthers) {
    start();
    Program& joiner = join();
    EXPECT_GE(share_of_line(joiner), kShareOfLine);
    const std::size_t last = committed();  // later steps have a fifth worker
    const std::vector<double> took = step_seconds();
    ASSERT_GT(took.size(), last);
    const double before = took.at(kFirstSteps - 1);
    const double meanwhile = *std::max_element(took.begin() + kFirstSteps, took.begin() + last);
    std::printf("step %.2f s, beside the download %.2f s at most\n", before, meanwhile);
    EXPECT_LE(meanwhile, kSlowerByMost * before);
}

TEST_F(JoinerTest, FinishesWhenTwoOfItsDonorsAreKilled) {
    start();
    Program& joiner = join();
    ASSERT_TRUE(joiner.wait_for_text("downloading the state", kPatience)) << joiner.err();
    peers[0]->signal(SIGKILL);
    peers[1]->signal(SIGKILL);
    ASSERT_TRUE(joiner.wait_for_text("the state is here", kPatience)) << joiner.err();
    EXPECT_TRUE(joiner.wait_for_text("working", kPatience)) << joiner.err();
    step_seconds();
}

}  // namespace
}  // namespace swarm::test
