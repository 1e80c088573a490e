#include "sim/scenario/scenario.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace sim {
namespace {

using namespace std::chrono_literals;

using Settings = std::vector<std::pair<std::string, std::string>>;

constexpr const char* kEight = "[[peers]]\ncount = 8\n";

Scenario parse(const std::string& toml, const Settings& settings = {}) {
    const auto scenario = parse_scenario(toml, "s.toml", settings);
    EXPECT_TRUE(scenario.has_value()) << scenario.error().detail << "\nin\n" << toml;
    if (scenario.has_error()) {
        return {};
    }
    return *scenario;
}

/// The error text of a scenario that must be refused; empty when it was taken.
std::string refusal(const std::string& toml, const Settings& settings = {}) {
    const auto scenario = parse_scenario(toml, "s.toml", settings);
    if (!scenario.has_error()) {
        return "";
    }
    EXPECT_EQ(scenario.error().code, swarm::ErrorCode::Usage);
    EXPECT_EQ(scenario.error().reaction, swarm::Reaction::Reject);
    EXPECT_EQ(scenario.error().detail.find('\n'), std::string::npos) << scenario.error().detail;
    return scenario.error().detail;
}

void expect_refusal(
    const std::string& toml, const std::string& beginning, const Settings& settings = {}
) {
    const std::string text = refusal(toml, settings);
    EXPECT_TRUE(text.starts_with(beginning)) << "refusal of\n" << toml << "\nwas: " << text;
}

TEST(ParseScenario, AFewPeersAreEnough) {
    const Scenario scenario = parse(kEight);
    EXPECT_EQ(scenario.name, "s");
    EXPECT_EQ(scenario.mode, Mode::Exact);
    EXPECT_EQ(peers_of(scenario), 8U);
    EXPECT_EQ(scenario.regions.latency, (std::vector<std::vector<Duration>>{{kLatencyDefault}}));
}

TEST(ParseScenario, ReadsEveryKeyOfThePipeline) {
    const Scenario scenario = parse(
        std::string(kEight) +
        "[pipeline]\nstages = 3\nmicrobatches = 5\nin_flight = 7\nmin_peers = 6\nsteps = 9\n"
        "arrival_gap = '50ms'\n"
        "work_units = 2.5\nactivation_bytes = 11\nstate_bytes = 13\npolicy = 'iwrr'\n"
        "mode = 'sparse'\nsync_every = 15\nreductions = false\n"
        "rebalancer = 'swarm-alg2'\nrebalance_every = '1min'\n"
    );
    const Pipeline& pipeline = scenario.pipeline;
    EXPECT_EQ(pipeline.stages, 3U);
    EXPECT_EQ(pipeline.microbatches, 5U);
    EXPECT_EQ(pipeline.in_flight, 7U);
    EXPECT_EQ(pipeline.min_peers, 6U);
    EXPECT_EQ(pipeline.arrival_gap, 50ms);
    EXPECT_EQ(pipeline.steps, 9U);
    EXPECT_EQ(pipeline.work_units, 2.5);
    EXPECT_EQ(pipeline.activation_bytes, 11U);
    EXPECT_EQ(pipeline.state_bytes, 13U);
    EXPECT_TRUE(pipeline.is_sparse());
    EXPECT_EQ(pipeline.steps_between_syncs(), 15U);
    EXPECT_EQ(pipeline.parameters(), 1U);
    EXPECT_EQ(pipeline.exchanged(), 0U);
    EXPECT_EQ(pipeline.policy, "iwrr");
    EXPECT_EQ(pipeline.rebalancer, "swarm-alg2");
    EXPECT_EQ(pipeline.rebalance_every, 1min);
}

TEST(ParseScenario, ReadsGroupsOfPeers) {
    const Scenario scenario = parse(
        "[regions]\nnames = ['eu', 'us']\nlatency = '30ms'\n"
        "[[peers]]\nname = 'cards'\ncount = 4\nregion = 'us'\nunits_per_s = { uniform = [5, 9] }\n"
        "up_bytes_per_s = 1e6\ndown_bytes_per_s = { choice = [1e6, 2e6] }\n"
        "memory_bytes = 16000000000\nclock_offset_s = { uniform = [-30, 30] }\n"
        "clock_drift_ppm = { exponential = 20 }\n"
        "[[peers]]\nname = 'others'\ncount = 2\n"
    );
    ASSERT_EQ(scenario.groups.size(), 2U);
    const PeerGroup& cards = scenario.groups[0];
    EXPECT_EQ(cards.name, "cards");
    EXPECT_EQ(cards.region, "us");
    EXPECT_EQ(cards.units_per_s.kind, Draw::Kind::Uniform);
    EXPECT_EQ(cards.units_per_s.values, (std::vector<double>{5, 9}));
    EXPECT_EQ(cards.up_bytes_per_s.values, (std::vector<double>{1e6}));
    EXPECT_EQ(cards.down_bytes_per_s.kind, Draw::Kind::Choice);
    EXPECT_EQ(cards.memory_bytes, 16'000'000'000U);
    EXPECT_EQ(cards.clock_offset_s.values, (std::vector<double>{-30, 30}));
    EXPECT_EQ(cards.clock_drift_ppm.kind, Draw::Kind::Exponential);
    EXPECT_EQ(peers_of(scenario), 6U);
}

TEST(ParseScenario, ReadsChurnAndFaults) {
    const Scenario scenario = parse(
        std::string(kEight) +
        "[churn]\nmtbf = '2h'\ncrash_share = 0.5\nabsence_mean = 90\narrivals_per_hour = 3\n"
        "trace = 'a.csv'\nspares_last = false\n"
        "[faults]\nfreeze = { per_hour = 6, length_s = { exponential = 20 } }\n"
        "slow_down = { per_hour = 1.5, length_s = 60 }\nslow_down_factor = 0.1\n"
        "partition = { per_hour = 2, length_s = 9 }\ncut_links = { per_hour = 4, length_s = 3 }\n"
        "frame_loss = 1e-5\njob_stall = 0.01\njob_stall_s = 2\n"
    );
    EXPECT_EQ(scenario.churn.mtbf, 2h);
    EXPECT_EQ(scenario.churn.crash_share, 0.5);
    EXPECT_EQ(scenario.churn.absence_mean, 90s);
    EXPECT_EQ(scenario.churn.arrivals_per_hour, 3.0);
    EXPECT_EQ(scenario.churn.trace, "a.csv");
    EXPECT_FALSE(scenario.churn.spares_last);
    EXPECT_EQ(scenario.faults.freeze.per_hour, 6.0);
    EXPECT_EQ(scenario.faults.freeze.length_s.kind, Draw::Kind::Exponential);
    EXPECT_EQ(scenario.faults.slow_down.per_hour, 1.5);
    EXPECT_EQ(scenario.faults.slow_down_factor, 0.1);
    EXPECT_EQ(scenario.faults.partition.per_hour, 2.0);
    EXPECT_EQ(scenario.faults.cut_links.length_s.values, (std::vector<double>{3}));
    EXPECT_EQ(scenario.faults.frame_loss, 1e-5);
    EXPECT_EQ(scenario.faults.job_stall, 0.01);
    EXPECT_EQ(scenario.faults.job_stall_s, 2.0);
}

TEST(ParseScenario, TakesDurationsWithAUnitOrInSeconds) {
    const auto duration = [](const std::string& value) {
        return parse("duration = " + value + "\n" + kEight).duration;
    };
    EXPECT_EQ(duration("'32h'"), 32h);
    EXPECT_EQ(duration("'5min'"), 5min);
    EXPECT_EQ(duration("'1500ms'"), 1500ms);
    EXPECT_EQ(duration("'2d'"), 48h);
    EXPECT_EQ(duration("90"), 90s);
    EXPECT_EQ(duration("1.5"), 1500ms);
    for (const char* bad : {"'5 minutes'", "'-5min'", "-3", "'h'", "'1e3s'", "true", "nan", "''"}) {
        expect_refusal(
            std::string("duration = ") + bad + "\n" + kEight,
            "s.toml:1: duration must be a duration"
        );
    }
}

TEST(ParseScenario, TheWayBackIsAsLongUnlessItIsGiven) {
    const Scenario scenario = parse(
        std::string(kEight) +
        "[regions]\nnames = ['eu', 'us']\n[regions.latency]\n"
        "eu = { eu = '2ms', us = '45ms' }\nus = { us = '5ms' }\n"
    );
    EXPECT_EQ(
        scenario.regions.latency, (std::vector<std::vector<Duration>>{{2ms, 45ms}, {45ms, 5ms}})
    );
    const Scenario other = parse(
        std::string(kEight) +
        "[regions]\nnames = ['eu', 'us']\n[regions.latency]\n"
        "eu = { eu = '2ms', us = '45ms' }\nus = { us = '5ms', eu = '60ms' }\n"
    );
    EXPECT_EQ(
        other.regions.latency, (std::vector<std::vector<Duration>>{{2ms, 45ms}, {60ms, 5ms}})
    );
}

TEST(ParseScenario, TheFirstCommentIsTheQuestion) {
    const std::string file = std::string("# Question: how fast?\n# Source: none\n") + kEight;
    EXPECT_EQ(parse(file).question, "how fast?");
    EXPECT_EQ(parse(std::string("#\n") + kEight).question, "");
    EXPECT_EQ(parse(kEight).question, "");
}

TEST(ParseScenario, SettingsWinOverTheFile) {
    const std::string file = std::string("duration = '5min'\nseed = 3\n") + kEight;
    const Settings settings = {
        {"duration", "32h"},
        {"churn.mtbf", "2h"},
        {"seed", "9"},
        {"mode", "fluid"},
        {"regions.latency", "200ms"},
        {"faults.freeze.per_hour", "2"},
        {"faults.freeze.length_s", "{ exponential = 5 }"},
        {"peers.1.units_per_s", "{ uniform = [1, 2] }"},
        {"peers.1.name", "cards"},
        {"peers.cards.region", "everywhere"}};
    const Scenario scenario = parse(file, settings);
    EXPECT_EQ(scenario.duration, 32h);
    EXPECT_EQ(scenario.churn.mtbf, 2h);
    EXPECT_EQ(scenario.seed, 9U);
    EXPECT_EQ(scenario.mode, Mode::Fluid);
    EXPECT_EQ(scenario.regions.latency[0][0], 200ms);
    EXPECT_EQ(scenario.faults.freeze.length_s.kind, Draw::Kind::Exponential);
    EXPECT_EQ(scenario.groups[0].units_per_s.kind, Draw::Kind::Uniform);
    EXPECT_EQ(scenario.groups[0].region, "everywhere");
}

TEST(ParseScenario, PeersAloneScalesAllGroups) {
    const std::string file =
        "[[peers]]\nname = 'a'\ncount = 10\n[[peers]]\nname = 'b'\ncount = 5\n"
        "[[peers]]\nname = 'c'\ncount = 1\n";
    const Scenario scenario = parse(file, {{"peers", "1000"}});
    EXPECT_EQ(scenario.groups[0].count, 625U);
    EXPECT_EQ(scenario.groups[1].count, 313U);  // 312.5 and 62.5: the earlier one is rounded up
    EXPECT_EQ(scenario.groups[2].count, 62U);
    EXPECT_EQ(peers_of(scenario), 1000U);
}

TEST(ParseScenario, PeersAloneLeavesNoGroupEmpty) {
    const std::string file =
        "pipeline.stages = 1\n[[peers]]\nname = 'a'\ncount = 1000\n[[peers]]\nname = 'b'\n";
    const Scenario scenario = parse(file, {{"peers", "2"}});
    EXPECT_EQ(scenario.groups[0].count, 1U);
    EXPECT_EQ(scenario.groups[1].count, 1U);
}

TEST(ParseScenario, AGroupWithoutANameIsCalledPeers) {
    const Scenario scenario = parse(kEight, {{"peers.peers.units_per_s", "7"}});
    EXPECT_EQ(scenario.groups[0].units_per_s.values, std::vector<double>{7});
    expect_refusal(
        std::string(kEight) + "[[plan]]\nat = 1\nkind = 'crash'\npeer = 1\n",
        "--set plan.peers.at=2: peers is not",
        {{"plan.peers.at", "2"}}
    );
}

TEST(ParseScenario, ThePeriodOfTheRebalancerIsWholeSeconds) {
    expect_refusal(
        "pipeline.rebalance_every = '1500ms'\n" + std::string(kEight),
        "s.toml:1: pipeline.rebalance_every must be whole seconds"
    );
}

TEST(ParseScenario, ErrorsOfSettingsNameTheSetting) {
    const auto expect = [](const char* key, const char* value, const std::string& what) {
        const std::string place = std::string("--set ") + key + "=" + value + ": ";
        expect_refusal(kEight, place + what, {{key, value}});
    };
    expect("churn.mtbf", "-2h", "churn.mtbf must be a duration");
    expect("churn.mtbff", "2h", "churn.mtbff is unknown; [churn] has mtbf");
    expect("chrun.mtbf", "2h", "chrun is unknown");
    expect("peers", "0", "peers must be a whole number from 1 to 16384");
    expect("peers", "1000000000", "peers must be a whole number");
    expect("peers", "many", "peers must be a whole number");
    expect("peers.count", "3", "");
    expect("peers.9.count", "3", "9 is not a table or an entry's name or number");
    expect("mode", "exactly", "mode must be one of exact, fluid");
    expect("duration.seconds", "1", "duration must be a duration");
    expect("seed", "'1", "the value is neither TOML nor a text without quotes");
    expect("", "3", "the key must be like churn.mtbf");
    expect("churn..mtbf", "3", "the key must be like churn.mtbf");
}

TEST(ParseScenario, ASettingIsOneValue) {
    EXPECT_EQ(
        refusal(kEight, {{"seed", "1\nmode = 'fluid'"}}),
        "--set seed=1?mode = 'fluid': the value is neither TOML nor a text without quotes"
    );
}

TEST(ParseScenario, RefusesANegativeRate) {
    const std::string base = std::string(kEight);
    expect_refusal(
        base + "up_bytes_per_s = -5\n", "s.toml:3: peers.up_bytes_per_s must stay within 0 to 1e+10"
    );
    expect_refusal(
        base + "units_per_s = { uniform = [-1, 5] }\n", "s.toml:3: peers.units_per_s must stay"
    );
    expect_refusal(
        base + "[faults]\nfreeze = { per_hour = -1, length_s = 3 }\n",
        "s.toml:4: faults.freeze.per_hour must be a number from 0"
    );
    expect_refusal(
        base + "[churn]\narrivals_per_hour = -0.5\n", "s.toml:4: churn.arrivals_per_hour must be"
    );
    expect_refusal(base + "units_per_s = 0\n", "s.toml:3: peers.units_per_s must stay within");
    expect_refusal(base + "units_per_s = nan\n", "s.toml:3: peers.units_per_s must stay within");
}

TEST(ParseScenario, RefusesAStateThatNoFrameCarries) {
    const std::string base = std::string(kEight) + "[pipeline]\nstate_bytes = ";
    EXPECT_EQ(parse(base + "15000000000\n").pipeline.state_bytes, 15'000'000'000U);
    expect_refusal(
        base + "15000000001\n", "s.toml:4: pipeline.state_bytes must be a whole number from 0 to"
    );
}

TEST(ParseScenario, RefusesAnUnknownRegion) {
    const std::string regions = "[regions]\nnames = ['eu', 'us']\nlatency = 0.03\n";
    expect_refusal(
        regions + kEight + "region = 'mars'\n",
        "s.toml:6: peers.region \"mars\" is unknown; the regions are eu, us"
    );
    expect_refusal(
        std::string(kEight) +
            "[regions]\nnames = ['eu', 'us']\n[regions.latency]\neu = { mars = 1 }\n",
        "s.toml:6: regions.latency names \"mars\", unknown; the regions are eu, us"
    );
    expect_refusal(
        std::string(kEight) + "[regions]\nnames = ['eu', 'us']\n[regions.latency]\nmars = { }\n",
        "s.toml:6: regions.latency names \"mars\""
    );
}

TEST(ParseScenario, RefusesRegionsWithoutAWayBetweenThem) {
    const std::string base = std::string(kEight) + "[regions]\nnames = ['eu', 'us']\n";
    expect_refusal(base, "s.toml:4: regions.names are several, so regions.latency must say");
    expect_refusal(
        base + "latency = { eu = { eu = 0.001, us = 0.04 } }\n",
        "s.toml:5: regions.latency does not say how far it is from us to us"
    );
    expect_refusal(
        base + "latency = { eu = 3 }\n", "s.toml:5: regions.latency must be { from = { to"
    );
    expect_refusal(
        std::string(kEight) + "[regions]\nnames = ['eu', 'eu']\nlatency = 1\n",
        "s.toml:4: regions.names must be a list of 1 to 64 different names"
    );
}

TEST(ParseScenario, RefusesTooManyPeers) {
    expect_refusal(
        "[[peers]]\ncount = 1000000000\n",
        "s.toml:2: peers.count must be a whole number from 1 to 16384"
    );
    expect_refusal(
        "[[peers]]\nname = 'a'\ncount = 16000\n[[peers]]\ncount = 385\n",
        "s.toml:1: peers are 16385, must be at most 16384"
    );
}

TEST(ParseScenario, RefusesAnUnknownKeyWithItsLineAndTheKnownOnes) {
    expect_refusal("sed = 3\n", "s.toml:1: sed is unknown; a scenario has mode, seed, ");
    expect_refusal("[[peer]]\ncount = 3\n", "s.toml:1: peer is unknown; a scenario has ");
    expect_refusal(
        std::string(kEight) + "[pipeline]\nstages = 2\nstage = 2\n",
        "s.toml:5: pipeline.stage is unknown; [pipeline] has stages, "
    );
    expect_refusal(std::string(kEight) + "counts = 2\n", "s.toml:3: peers.counts is unknown");
    expect_refusal(
        std::string(kEight) + "[faults]\nfreeze = { per_hour = 1, length_s = 1, peer = 3 }\n",
        "s.toml:4: faults.freeze.peer is unknown; [faults.freeze] has per_hour, length_s"
    );
    expect_refusal(
        std::string(kEight) + "[[plan]]\nat = 1\nkind = 'crash'\npeer = 1\nwhen = 2\n",
        "s.toml:7: plan.when is unknown"
    );
}

TEST(ParseScenario, AnErrorIsOneLineWhateverTheKeyHolds) {
    EXPECT_EQ(refusal("\"a\\nb\" = 1\n").substr(0, 28), "s.toml:1: a?b is unknown; a ");
}

TEST(ParseScenario, RefusesTablesThatDoNotFitTogether) {
    expect_refusal("seed = 3\n", "s.toml: has no peers");
    expect_refusal(
        "[[peers]]\ncount = 3\n", "s.toml:1: pipeline.stages is 4, must be at most the number"
    );
    expect_refusal(
        "[pipeline]\nstages = 9\n" + std::string(kEight),
        "s.toml:1: pipeline.stages is 9, must be at most the number of peers (8)"
    );
    expect_refusal(
        "duration = 60\ncalm = 60\n" + std::string(kEight),
        "s.toml:2: calm must be shorter than duration"
    );
    expect_refusal(
        "pipeline.policy = 'best'\n" + std::string(kEight),
        "s.toml:1: pipeline.policy must be one of "
    );
    expect_refusal(
        "pipeline.rebalancer = 'best'\n" + std::string(kEight),
        "s.toml:1: pipeline.rebalancer must be one of "
    );
    expect_refusal(
        "pipeline.stages = 1\n[[peers]]\ncount = 1\n"
        "[faults]\npartition = { per_hour = 1, length_s = 1 }\n",
        "s.toml:4: faults between peers need two of them"
    );
    expect_refusal("peers = 8\n", "s.toml:1: peers must be a list of tables: [[peers]]");
    expect_refusal(std::string(kEight) + "[[peers]]\ncount = 1\n", "s.toml:3: peers.name must");
}

TEST(ParseScenario, RefusesDrawsThatAreNone) {
    for (const char* draw :
         {"'fast'",
          "{ uniform = [5, 1] }",
          "{ uniform = [5] }",
          "{ uniform = 5 }",
          "{ normal = [5, 1] }",
          "{ choice = [] }",
          "{ choice = ['a'] }",
          "{ exponential = [5] }",
          "{ uniform = [1, 2], choice = [1] }",
          "{ }",
          "[1, 2]"}) {
        expect_refusal(
            std::string(kEight) + "units_per_s = " + draw + "\n",
            "s.toml:3: peers.units_per_s must be a number, { uniform = [low, high] }"
        );
    }
}

TEST(ParseScenario, AFileCutAnywhereIsReadOrRefusedInOneLine) {
    const std::string whole =
        "# Question: what?\nduration = '5min'\n[pipeline]\nstages = 2\n"
        "[[peers]]\ncount = 8\nunits_per_s = { uniform = [1, 2] }\n"
        "[[plan]]\nat = '1min'\nkind = 'freeze'\npeer = 3\nlength = '5s'\n";
    int refused = 0;
    for (std::size_t size = 0; size < whole.size(); ++size) {
        const std::string text = refusal(whole.substr(0, size));
        refused += text.empty() ? 0 : 1;
        EXPECT_TRUE(text.empty() || text.starts_with("s.toml:")) << text;
    }
    EXPECT_GT(refused, 150);
    expect_refusal("[pipeline]\nstages = 2\n[[peers]\n", "s.toml:3: ");
    expect_refusal("duration = '5mi", "s.toml:1: ");
}

TEST(LoadScenario, NamesAFileThatIsNotThere) {
    const auto scenario = load_scenario("no/such/file.toml");
    ASSERT_TRUE(scenario.has_error());
    EXPECT_EQ(scenario.error().detail, "no/such/file.toml: is not a file that can be read");
    EXPECT_TRUE(load_scenario(".").has_error());
}

TEST(LoadScenario, KnowsItsNameAndFolder) {
    const auto folder = std::filesystem::path(testing::TempDir()) / "scenario_test";
    std::filesystem::create_directories(folder);
    const std::string path = (folder / "lab.toml").string();
    std::ofstream(path) << "# Question: is it read?\n" << kEight;
    const auto scenario = load_scenario(path, {{"peers", "9"}});
    ASSERT_TRUE(scenario.has_value()) << scenario.error().detail;
    EXPECT_EQ(scenario->name, "lab");
    EXPECT_EQ(scenario->folder, folder.string());
    EXPECT_EQ(scenario->question, "is it read?");
    EXPECT_EQ(peers_of(*scenario), 9U);
    std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace sim
