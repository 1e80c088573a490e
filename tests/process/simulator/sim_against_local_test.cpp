// The simulator compared with real processes: a run on sockets and a clock is recorded, and
// repeated on virtual time. Three seeds run at once, because nine peers that hold each job for its
// service time use a hundredth of a core. Lines of 200 ms there and back are emulated. The step
// time is the mean over all steps, so that it includes the kill; the median, which shows the other
// steps, is printed.
#include "tests/bench/machine_load.hpp"
#include "tests/process/program.hpp"
#include "tests/unit/net/temporary_folder.hpp"

#include <boost/json.hpp>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <regex>

namespace swarm::test {
namespace {

namespace json = boost::json;
using std::chrono::seconds;

constexpr int kSeeds = 3;
constexpr double kStepTolerance = 0.05;   // share of the real step time
constexpr double kShareTolerance = 0.05;  // share of the real share, mean over the peers
constexpr double kSharePoints = 0.05;     // difference of a share, over the work of the stage

// A run takes 100 to 130 s, whatever stages its slow peers get, so there is one kill.
const std::vector<std::string> kOneKill{
    "--kill-every", "75s", "--microbatches", "24", "--steps", "44"};
// There are enough microbatches for peers that wait 0.2 s for each answer.
const std::vector<std::string> kLongLines{
    "--line-delay", "100ms", "--in-flight", "72", "--microbatches", "96", "--steps", "12"};
constexpr seconds kPatience(240);

struct Peer {
    int service_ms = 0;
    int stage = 0;
    int kills = 0;
    double real = 0;       // share in its stage
    double simulated = 0;  // share in its stage
    double elsewhere = 0;  // simulated share in other stages
};

struct Comparison {
    double real_step_s = 0;
    double simulated_step_s = 0;
    double real_median_s = 0;
    double simulated_median_s = 0;
    double simulated_utilisation = 0;
    std::map<std::string, Peer> peers;  // keys: numbers in the scenario
};

double relative(double simulated, double real) {
    return simulated / real - 1;
}

/// Relative differences of the shares.
double mean_deviation(const Comparison& comparison) {
    double sum = 0;
    for (const auto& [number, peer] : comparison.peers) {
        sum += std::abs(relative(peer.simulated, peer.real));
    }
    return sum / static_cast<double>(comparison.peers.size());
}

class SimAgainstLocal : public testing::Test {
 protected:
    /// Trains one swarm per seed, all at once.
    void train(const std::string& policy, const std::vector<std::string>& how = kOneKill) {
        const bench::LoadMeter meter;
        std::vector<std::unique_ptr<Program>> runs;
        for (int seed = 1; seed <= kSeeds; ++seed) {
            std::vector<std::string> command = local(policy, seed);
            command.insert(command.end(), how.begin(), how.end());
            runs.push_back(std::make_unique<Program>(command, folder_.path()));
        }
        for (const auto& run : runs) {
            ASSERT_EQ(run->wait(kPatience), 0) << run->err();
        }
        std::printf(
            "%s; others used %.0f %% of the machine\n",
            policy.c_str(),
            100 * meter.foreign().value_or(0)
        );
    }

    /// Records and simulates the run of a seed.
    Comparison compare(int seed, int kills = 1) {
        const std::string scenario = path("run.toml", seed);
        const std::string simulated = path("sim.json", seed);
        swarm({"sim", "record", path("run.json", seed), "-o", scenario});
        swarm({"sim", scenario, "--mode", "exact", "--json", simulated});
        const json::object real = json::parse(read(path("run.json", seed))).as_object();
        const json::object sim = json::parse(read(simulated)).as_object();
        EXPECT_EQ(real.at("kills").to_number<int>(), kills);
        EXPECT_TRUE(sim.at("violations").as_array().empty());
        Comparison comparison;
        read_step_times(real, sim, comparison);
        read_shares(real, sim, read(scenario), comparison);
        print(seed, comparison);
        return comparison;
    }

    static void expect_same_steps_and_stages(const Comparison& comparison) {
        const double real = comparison.real_step_s;
        EXPECT_NEAR(comparison.simulated_step_s, real, kStepTolerance * real);
        ASSERT_EQ(comparison.peers.size(), 9U);
        for (const auto& [number, peer] : comparison.peers) {
            EXPECT_EQ(peer.elsewhere, 0) << "peer " << number << " was in another stage";
            EXPECT_NEAR(peer.simulated, peer.real, kSharePoints) << "peer " << number;
        }
    }

 private:
    std::vector<std::string> local(const std::string& policy, int seed) {
        return {
            "local",
            "--model",
            "oracle",
            "--stages",
            "3",
            "--peers",
            "9",
            "--service-ms",
            "50,65,85",
            "--policy",
            policy,
            "--seed",
            std::to_string(seed),
            "--dir",
            path("run", seed),
            "--json",
            path("run.json", seed)};
    }

    [[nodiscard]] std::string path(const std::string& name, int seed) const {
        return (folder_.path() / (std::to_string(seed) + "-" + name)).string();
    }

    static std::string read(const std::string& file) {
        std::ifstream in(file);
        return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
    }

    void swarm(const std::vector<std::string>& arguments) {
        Program program(arguments, folder_.path());
        ASSERT_EQ(program.wait(seconds(60)), 0) << program.err();
    }

    static void read_step_times(
        const json::object& real, const json::object& sim, Comparison& comparison
    ) {
        std::vector<double> times;
        for (const json::value& step : real.at("steps").as_array()) {
            times.push_back(step.at("seconds").to_number<double>());
        }
        ASSERT_FALSE(times.empty());
        ASSERT_EQ(times.size(), sim.at("steps").to_number<std::size_t>());
        for (const double time : times) {
            comparison.real_step_s += time / static_cast<double>(times.size());
        }
        std::sort(times.begin(), times.end());
        comparison.real_median_s = times[(times.size() - 1) / 2];
        comparison.simulated_step_s = sim.at("step_s").at("mean").to_number<double>();
        comparison.simulated_utilisation = sim.at("utilisation").to_number<double>();
        comparison.simulated_median_s = sim.at("step_s").at("p50").to_number<double>();
    }

    /// Reads the real peer of each simulated one from the comments of the scenario.
    static void read_shares(
        const json::object& real,
        const json::object& sim,
        const std::string& scenario,
        Comparison& comparison
    ) {
        std::map<std::string, std::string> numbers;  // keys: ids
        const std::regex line("# Peer ([0-9]+) was ([a-z0-9]+)");
        for (std::sregex_iterator i(scenario.begin(), scenario.end(), line), end; i != end; ++i) {
            numbers[(*i)[2]] = (*i)[1];
        }
        for (const json::value& value : real.at("peers").as_array()) {
            const std::string id(value.at("id").as_string());
            ASSERT_TRUE(numbers.contains(id)) << id;
            Peer& peer = comparison.peers[numbers[id]];
            peer.service_ms = value.at("service_ms").to_number<int>();
            peer.stage = value.at("stage").to_number<int>();
            peer.kills = value.at("kills").to_number<int>();
            peer.real = value.at("share").to_number<double>();
        }
        for (const json::value& value : sim.at("shares").as_array()) {
            const std::string number = std::to_string(value.at("peer").to_number<int>());
            Peer& peer = comparison.peers[number];
            const bool there = value.at("stage").to_number<int>() == peer.stage;
            (there ? peer.simulated : peer.elsewhere) += value.at("share").to_number<double>();
        }
    }

    static void print(int seed, const Comparison& comparison) {
        std::printf(
            "seed %d: step %.3f s, simulated %.3f s (%+.1f %%); median %.3f s, simulated %.3f s; "
            "shares %.1f %% off\n",
            seed,
            comparison.real_step_s,
            comparison.simulated_step_s,
            100 * relative(comparison.simulated_step_s, comparison.real_step_s),
            comparison.real_median_s,
            comparison.simulated_median_s,
            100 * mean_deviation(comparison)
        );
        for (const auto& [number, peer] : comparison.peers) {
            std::printf(
                "  peer %s, stage %d, %d ms%s: share %.1f %%, simulated %.1f %% (%+.1f %%)\n",
                number.c_str(),
                peer.stage,
                peer.service_ms,
                peer.kills > 0 ? ", killed" : "",
                100 * peer.real,
                100 * peer.simulated,
                100 * relative(peer.simulated, peer.real)
            );
        }
    }

    TemporaryFolder folder_;
};

/// This policy does not remember the speeds of peers, so its shares hardly vary from run to run.
/// One of two patterns may still win by a tenth of a millisecond: one peer in 81 was 7.6 % off.
TEST_F(SimAgainstLocal, StepTimeAndSharesAreWithinFivePercent) {
    ASSERT_NO_FATAL_FAILURE(train("shortest_queue"));
    for (int seed = 1; seed <= kSeeds; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        const Comparison comparison = compare(seed);
        expect_same_steps_and_stages(comparison);
        EXPECT_LE(mean_deviation(comparison), kShareTolerance);
    }
}

/// The work is that of the other run, and the time is another one: busy time over peer time follows
/// from the steps.
TEST_F(SimAgainstLocal, UtilisationOverLongLinesIsWithinFivePercent) {
    ASSERT_NO_FATAL_FAILURE(train("shortest_queue", kLongLines));
    for (int seed = 1; seed <= kSeeds; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        const Comparison comparison = compare(seed, 0);
        const double simulated = comparison.simulated_utilisation;
        const double real = simulated * comparison.simulated_step_s / comparison.real_step_s;
        std::printf("  utilisation %.1f %%, simulated %.1f %%\n", 100 * real, 100 * simulated);
        EXPECT_NEAR(real, simulated, kStepTolerance * simulated);
    }
}

/// The default policy learns from its last few observations, so 0.1 ms decides which of two peers
/// gets a microbatch, and then the next one. The shares of single peers vary by more than 5 % of
/// themselves between two such runs, real or simulated. Step times do not.
TEST_F(SimAgainstLocal, StepTimeOfTheDefaultPolicyIsWithinFivePercent) {
    ASSERT_NO_FATAL_FAILURE(train("expected_finish"));
    for (int seed = 1; seed <= kSeeds; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        const Comparison comparison = compare(seed);
        expect_same_steps_and_stages(comparison);
    }
}

}  // namespace
}  // namespace swarm::test
