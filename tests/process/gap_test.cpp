// The cost of one lost replica: no gradient is lost, and the next commit comes seconds later. Other
// pipelines end when they lose a rank, or wait for ever.
#include "tests/process/train_bed.hpp"

#include <boost/json.hpp>
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <fstream>
#include <iostream>
#include <iterator>

namespace swarm::test {
namespace {

using std::chrono::seconds;

struct Gaps {
    double undisturbed_s = 0;  // median time of a step before the fault
    double longest_s = 0;      // longest time between commits, from the fault on
};

class GapTest : public TrainBed {
 protected:
    static constexpr int kFaultAfter = 6;

    /// Trains with two stages of two peers. A peer of the last stage gets the signal in step 7.
    Gaps gaps_after(int signal) {
        const std::string json = (folder.path() / "run.json").string();
        Program coordinator(
            train({"--model", "oracle", "--stages", "2", "--steps", "16", "--json", json}),
            folder.path()
        );
        start_peers(4, "50");
        EXPECT_TRUE(
            coordinator.wait_for_text("step " + std::to_string(kFaultAfter) + "/", seconds(60))
        ) << coordinator.err();
        const auto victim = std::find_if(peers.begin(), peers.end(), [](const auto& peer) {
            return peer->err().find("serving stage 1") != std::string::npos;
        });
        if (victim == peers.end()) {
            ADD_FAILURE() << "nobody serves the last stage";
            return {};
        }
        (*victim)->signal(signal);
        EXPECT_EQ(coordinator.wait(seconds(90)), 0) << coordinator.err();
        (*victim)->signal(SIGCONT);
        EXPECT_EQ(weights_of(coordinator), single_weights("2", "16"));
        return read_gaps(json);
    }

 private:
    static Gaps read_gaps(const std::string& file) {
        std::ifstream in(file);
        const std::string text{std::istreambuf_iterator<char>(in), {}};
        const boost::json::value report = boost::json::parse(text);
        std::vector<double> before;
        Gaps gaps;
        for (const auto& step : report.at("steps").as_array()) {
            EXPECT_EQ(step.at("counted"), step.at("expected"));
            const double took = step.at("seconds").as_double();
            if (step.at("step").to_number<int>() < kFaultAfter) {
                before.push_back(took);
            } else {
                gaps.longest_s = std::max(gaps.longest_s, took);
            }
        }
        EXPECT_EQ(before.size(), static_cast<std::size_t>(kFaultAfter));
        std::sort(before.begin(), before.end());
        gaps.undisturbed_s = before.at(before.size() / 2);
        std::cout << "a step " << gaps.undisturbed_s << " s, longest gap after the fault "
                  << gaps.longest_s << " s\n";
        return gaps;
    }
};

TEST_F(GapTest, AKilledReplicaCostsThreeSecondsAndTwoSteps) {
    const Gaps gaps = gaps_after(SIGKILL);
    EXPECT_LE(gaps.longest_s, 3 + 2 * gaps.undisturbed_s);
}

TEST_F(GapTest, AFrozenReplicaCostsEightSecondsAndTwoSteps) {
    const Gaps gaps = gaps_after(SIGSTOP);  // it never goes on
    EXPECT_LE(gaps.longest_s, 8 + 2 * gaps.undisturbed_s);
}

}  // namespace
}  // namespace swarm::test
