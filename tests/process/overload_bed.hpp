// The run of the tests of an overloaded stage: three stages of two peers; the middle stage has a
// third of its speed for a while.
#pragma once

#include "tests/process/train_bed.hpp"

#include <boost/json.hpp>

#include <algorithm>
#include <csignal>
#include <fstream>
#include <iostream>
#include <iterator>
#include <sstream>

namespace swarm::test {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Steady = std::chrono::steady_clock;

inline constexpr double kRecoveryS = 10;
inline constexpr std::uint32_t kMicrobatches = 8;
inline constexpr double kReplaysMax = 0.25;  // share of the microbatches of a step
/// Multiple of the median step time before the overload; it includes the noise of a busy machine.
inline constexpr double kTolerance = 1.25;

inline double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values.empty() ? 0 : values[values.size() / 2];
}

struct StepTimes {
    std::vector<double> before;
    std::vector<double> during;
    std::vector<double> after;  // times of steps that begin at least 10 s after the overload
};

/// `begin` and `end`: numbers of steps that were committed when the overload began and ended.
inline StepTimes split_times(const boost::json::array& steps, std::size_t begin, std::size_t end) {
    StepTimes times;
    double since_end_s = 0;
    for (std::size_t i = 0; i < steps.size(); ++i) {
        const double took_s = steps[i].at("seconds").as_double();
        if (i < begin) {
            times.before.push_back(took_s);
        } else if (i < end) {
            times.during.push_back(took_s);
        } else {
            if (since_end_s >= kRecoveryS) {
                times.after.push_back(took_s);
            }
            since_end_s += took_s;
        }
    }
    times.before.erase(times.before.begin(), times.before.begin() + 5);  // rates are not known yet
    return times;
}

class OverloadTest : public TrainBed {
 protected:
    static std::size_t committed(const Program& coordinator) {
        std::istringstream lines(coordinator.err());
        std::size_t count = 0;
        for (std::string line; std::getline(lines, line);) {
            count += line.rfind("step ", 0) == 0 ? 1U : 0U;
        }
        return count;
    }

    std::vector<Program*> peers_of(const std::string& stage) {
        std::vector<Program*> found;
        for (const auto& peer : peers) {
            if (peer->wait_for_text("serving stage ", seconds(30)) &&
                peer->err().find("serving stage " + stage) != std::string::npos) {
                found.push_back(peer.get());
            }
        }
        return found;
    }

    /// The peers run for three tenths of the time, which is a third of their speed, because the job
    /// under way ends with each pause. No pause is long enough to make a peer a suspect.
    static void overload(
        Program& coordinator, const std::vector<Program*>& stage, milliseconds how_long
    ) {
        const auto end = Steady::now() + how_long;
        while (Steady::now() < end) {
            for (const auto& [signal, time] :
                 {std::pair{SIGSTOP, milliseconds(700)}, std::pair{SIGCONT, milliseconds(300)}}) {
                for (const Program* const peer : stage) {
                    peer->signal(signal);
                }
                ASSERT_FALSE(coordinator.wait_for_text("weights after", time))
                    << "it ended too early";
            }
        }
    }

    [[nodiscard]] boost::json::array steps_of_report() const {
        std::ifstream in(folder.path() / "report.json");
        const std::string text{std::istreambuf_iterator<char>(in), {}};
        return boost::json::parse(text).at("steps").as_array();
    }

    /// Expects that the step time is back ten seconds after the overload, and that replays stay
    /// few.
    void expect_recovery(milliseconds how_long, std::uint64_t steps) {
        Program coordinator(
            train(
                {"--model",
                 "oracle",
                 "--stages",
                 "3",
                 "--steps",
                 std::to_string(steps),
                 "--microbatches",
                 std::to_string(kMicrobatches),
                 "--min-peers",
                 "6",
                 "--json",
                 (folder.path() / "report.json").string()}
            ),
            folder.path()
        );
        start_peers(6, "20");
        ASSERT_TRUE(coordinator.wait_for_text("step 25/", seconds(60))) << coordinator.err();
        const std::vector<Program*> middle = peers_of("1");
        ASSERT_EQ(middle.size(), 2U);
        const std::size_t begin = committed(coordinator);
        overload(coordinator, middle, how_long);
        const std::size_t end = committed(coordinator);
        ASSERT_EQ(coordinator.wait(seconds(180)), 0) << coordinator.err();

        const boost::json::array report = steps_of_report();
        for (const boost::json::value& step : report) {
            EXPECT_LE(step.at("replayed").to_number<double>(), kReplaysMax * kMicrobatches);
            EXPECT_EQ(step.at("counted"), step.at("expected")) << boost::json::serialize(step);
            EXPECT_EQ(step.at("fenced").to_number<int>(), 0) << boost::json::serialize(step);
        }
        const StepTimes times = split_times(report, begin, end);
        const double before_s = median(times.before);
        std::cout << "median step: " << before_s << " s before, " << median(times.during)
                  << " s overloaded, " << median(times.after) << " s after\n";
        EXPECT_GT(median(times.during), 1.5 * before_s) << "this was no overload";
        ASSERT_GE(times.after.size(), 10U);
        EXPECT_LE(median(times.after), kTolerance * before_s);
        EXPECT_EQ(weights_of(coordinator), single_weights("3", std::to_string(steps)));
    }
};

}  // namespace swarm::test
