#include "sim/scenario/schedule.hpp"

#include "swarm/base/trace_hash.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <filesystem>
#include <fstream>
#include <set>

namespace sim {
namespace {

using namespace std::chrono_literals;
using Kind = Happening::Kind;

Scenario scenario_of(const std::string& toml) {
    const auto scenario = parse_scenario(toml, "s.toml");
    EXPECT_TRUE(scenario.has_value()) << scenario.error().detail << "\nin\n" << toml;
    if (scenario.has_error()) {
        return {};
    }
    return *scenario;
}

Schedule schedule_of(const std::string& toml, std::uint64_t seed = 1) {
    auto schedule = make_schedule(scenario_of(toml), seed);
    EXPECT_TRUE(schedule.has_value()) << schedule.error().detail;
    if (schedule.has_error()) {
        return {};
    }
    return *schedule;
}

std::size_t count(const Schedule& schedule, Kind kind) {
    return static_cast<std::size_t>(std::count_if(
        schedule.happenings.begin(),
        schedule.happenings.end(),
        [&](const Happening& next) { return next.kind == kind; }
    ));
}

std::vector<Happening> of_peer(const Schedule& schedule, std::uint32_t peer) {
    std::vector<Happening> own;
    for (const Happening& next : schedule.happenings) {
        if (next.peer == peer) {
            own.push_back(next);
        }
    }
    return own;
}

std::uint64_t hash_of(const Schedule& schedule) {
    swarm::TraceHash hash;
    for (const FleetPeer& peer : schedule.fleet) {
        hash.add(peer.number);
        hash.add(std::bit_cast<std::uint64_t>(peer.units_per_s));
        hash.add(peer.up_bytes_per_s);
        hash.add(peer.down_bytes_per_s);
        hash.add(std::bit_cast<std::uint64_t>(peer.clock_offset_s));
        hash.add(peer.there_at_start ? 1 : 0);
    }
    for (const Happening& next : schedule.happenings) {
        hash.add(static_cast<std::uint64_t>(next.at.time_since_epoch().count()));
        hash.add((std::uint64_t{next.peer} << 32) | next.to);
        hash.add(static_cast<std::uint64_t>(next.kind));
        hash.add(std::bit_cast<std::uint64_t>(next.factor));
    }
    return hash.value();
}

/// Everything that can happen, often.
std::string stormy(std::uint32_t peers) {
    return "duration = '1h'\ncalm = '5min'\n[[peers]]\ncount = " + std::to_string(peers) +
           "\nunits_per_s = { uniform = [5, 50] }\nup_bytes_per_s = { exponential = 1e6 }\n"
           "clock_offset_s = { uniform = [-9, 9] }\n"
           "[churn]\nmtbf = '10min'\ncrash_share = 0.5\nabsence_mean = '3min'\n"
           "arrivals_per_hour = 6\n"
           "[faults]\nfreeze = { per_hour = 60, length_s = { exponential = 20 } }\n"
           "slow_down = { per_hour = 60, length_s = { uniform = [10, 90] } }\n"
           "partition = { per_hour = 60, length_s = 30 }\n"
           "cut_links = { per_hour = 30, length_s = 20 }\n";
}

TEST(MakeSchedule, IsAFunctionOfScenarioAndSeedWithAGoldenHash) {
    EXPECT_EQ(hash_of(schedule_of(stormy(16), 5)), hash_of(schedule_of(stormy(16), 5)));
    EXPECT_NE(hash_of(schedule_of(stormy(16), 5)), hash_of(schedule_of(stormy(16), 6)));
    EXPECT_EQ(hash_of(schedule_of(stormy(16), 5)), 13383923556688604607U);
}

TEST(MakeSchedule, IsSortedAndEachKindComesUp) {
    const Schedule schedule = schedule_of(stormy(16));
    const auto& all = schedule.happenings;
    EXPECT_TRUE(std::is_sorted(all.begin(), all.end(), [](const auto& a, const auto& b) {
        return std::tuple(a.at, a.peer, a.kind) < std::tuple(b.at, b.peer, b.kind);
    }));
    for (int kind = 0; kind <= static_cast<int>(Kind::MendLink); ++kind) {
        EXPECT_GT(count(schedule, static_cast<Kind>(kind)), 0U) << name_of(static_cast<Kind>(kind));
    }
}

TEST(MakeSchedule, OnlyPeersThatAreDownJoinAndFaultsBefallPeersThatAreUp) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        const Schedule schedule = schedule_of(stormy(16), seed);
        std::vector<bool> up(schedule.fleet.size() + 1);
        for (const FleetPeer& peer : schedule.fleet) {
            up[peer.number] = peer.there_at_start;
        }
        for (const Happening& next : schedule.happenings) {
            const bool begins = next.kind == Kind::Leave || next.kind == Kind::Crash ||
                                next.kind == Kind::Freeze || next.kind == Kind::SlowDown ||
                                next.kind == Kind::Block || next.kind == Kind::CutLink;
            EXPECT_TRUE(!begins || up[next.peer]) << name_of(next.kind);
            EXPECT_TRUE(next.kind != Kind::Join || !up[next.peer]);
            if (next.kind == Kind::Join || next.kind == Kind::Leave || next.kind == Kind::Crash) {
                up[next.peer] = next.kind == Kind::Join;
            }
        }
    }
}

TEST(MakeSchedule, AFaultThatLastsEndsOnceAndDoesNotOverlap) {
    const Schedule schedule = schedule_of(stormy(16));
    std::set<std::pair<std::uint32_t, std::uint32_t>> cut;
    std::set<std::uint32_t> slow;
    for (const Happening& next : schedule.happenings) {
        const auto link = std::minmax(next.peer, next.to);
        if (next.kind == Kind::CutLink) {
            EXPECT_TRUE(cut.insert(link).second);
        } else if (next.kind == Kind::MendLink) {
            EXPECT_EQ(cut.erase(link), 1U);
        } else if (next.kind == Kind::SlowDown) {
            EXPECT_TRUE(slow.insert(next.peer).second);
            EXPECT_EQ(next.factor, 0.25);
        } else if (next.kind == Kind::SpeedBack) {
            EXPECT_EQ(slow.erase(next.peer), 1U);
        }
    }
    EXPECT_TRUE(cut.empty());
    EXPECT_TRUE(slow.empty());
}

TEST(MakeSchedule, NothingBeginsInTheCalmAndAllAreBack) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        const Schedule schedule = schedule_of(stormy(16), seed);
        std::vector<bool> up(17, true);
        for (const Happening& next : schedule.happenings) {
            EXPECT_LE(next.at, TimePoint(55min));
            const bool ends = next.kind == Kind::Join || next.kind == Kind::Thaw ||
                              next.kind == Kind::SpeedBack || next.kind == Kind::Unblock ||
                              next.kind == Kind::MendLink;
            EXPECT_TRUE(next.at < TimePoint(55min) || ends) << name_of(next.kind);
            if (next.peer <= 16 &&
                (next.kind == Kind::Join || next.kind == Kind::Leave || next.kind == Kind::Crash)) {
                up[next.peer] = next.kind == Kind::Join;
            }
        }
        EXPECT_EQ(std::count(up.begin(), up.end(), false), 0) << seed;
    }
}

TEST(MakeSchedule, OnePeerMoreShiftsNoOtherPeersTraitsOrChurn) {
    std::string few = stormy(16);
    few.resize(few.find("arrivals_per_hour"));
    std::string more = stormy(17);
    more.resize(more.find("arrivals_per_hour"));
    const Schedule before = schedule_of(few);
    const Schedule after = schedule_of(more);
    ASSERT_EQ(after.fleet.size(), 17U);
    for (std::uint32_t peer = 1; peer <= 16; ++peer) {
        EXPECT_EQ(before.fleet[peer - 1].units_per_s, after.fleet[peer - 1].units_per_s);
        EXPECT_EQ(before.fleet[peer - 1].up_bytes_per_s, after.fleet[peer - 1].up_bytes_per_s);
        const auto own = of_peer(before, peer);
        const auto then = of_peer(after, peer);
        ASSERT_EQ(own.size(), then.size()) << peer;
        for (std::size_t i = 0; i < own.size(); ++i) {
            EXPECT_EQ(own[i].at, then[i].at);
            EXPECT_EQ(own[i].kind, then[i].kind);
        }
    }
}

TEST(MakeSchedule, AGroupThatGrowsShiftsNoOtherGroup) {
    const auto speeds = [](std::uint32_t first_group) {
        const Schedule schedule = schedule_of(
            "[[peers]]\nname = 'a'\nunits_per_s = { uniform = [1, 9] }\ncount = " +
            std::to_string(first_group) +
            "\n[[peers]]\nname = 'b'\nunits_per_s = { uniform = [1, 9] }\ncount = 4\n"
        );
        std::vector<double> speeds_of_b;
        for (std::size_t i = first_group; i < schedule.fleet.size(); ++i) {
            speeds_of_b.push_back(schedule.fleet[i].units_per_s);
        }
        return speeds_of_b;
    };
    EXPECT_EQ(speeds(3), speeds(8));
}

TEST(MakeSchedule, ChurnHasItsRateAndShare) {
    const Schedule schedule = schedule_of(
        "duration = '32h'\n[[peers]]\ncount = 400\n"
        "[churn]\nmtbf = '2h'\ncrash_share = 0.25\nabsence_mean = '30min'\n"
    );
    // 400 peers x 32 h, each up 2 h and away 0.5 h in turns.
    const double departures =
        static_cast<double>(count(schedule, Kind::Leave) + count(schedule, Kind::Crash));
    EXPECT_NEAR(departures, 400 * 32 / 2.5, 0.04 * 400 * 32 / 2.5);
    EXPECT_NEAR(static_cast<double>(count(schedule, Kind::Crash)) / departures, 0.25, 0.02);
}

TEST(MakeSchedule, WithoutAbsencesNoPeerReturns) {
    const Schedule schedule =
        schedule_of("duration = '32h'\n[[peers]]\ncount = 50\n[churn]\nmtbf = '2h'\n");
    EXPECT_EQ(count(schedule, Kind::Join), 0U);
    EXPECT_EQ(count(schedule, Kind::Crash), 50U);
}

TEST(MakeSchedule, ArrivalsAreNewPeersLikeTheFirstGroup) {
    const Schedule schedule = schedule_of(
        "duration = '10h'\npipeline.stages = 2\n[[peers]]\ncount = 2\nunits_per_s = 7\n"
        "[churn]\narrivals_per_hour = 20\n"
    );
    EXPECT_NEAR(static_cast<double>(schedule.fleet.size()), 202, 45);
    EXPECT_EQ(schedule.happenings.size(), schedule.fleet.size() - 2);
    EXPECT_FALSE(schedule.fleet[2].there_at_start);
    EXPECT_EQ(schedule.fleet[2].number, 3U);
    EXPECT_EQ(schedule.fleet[2].units_per_s, 7.0);
}

TEST(MakeSchedule, FaultsHaveTheirRateOverTheFleet) {
    const Schedule schedule = schedule_of(
        "duration = '100h'\n[[peers]]\ncount = 40\n"
        "[faults]\nfreeze = { per_hour = 10, length_s = 5 }\n"
    );
    EXPECT_NEAR(static_cast<double>(count(schedule, Kind::Freeze)), 1000, 110);
    EXPECT_EQ(count(schedule, Kind::Freeze), count(schedule, Kind::Thaw));
    std::set<std::uint32_t> victims;
    for (const Happening& next : schedule.happenings) {
        victims.insert(next.peer);
    }
    EXPECT_EQ(victims.size(), 40U);
}

TEST(MakeSchedule, CarriesOutThePlan) {
    const Schedule schedule = schedule_of(
        "[[peers]]\ncount = 4\n"
        "[[plan]]\nat = 10\nkind = 'freeze'\npeer = 1\nlength = 5\n"
        "[[plan]]\nat = 20\nkind = 'slow_down'\npeer = 2\nlength = 5\nfactor = 0.5\n"
        "[[plan]]\nat = 30\nkind = 'partition'\npeer = 3\nto = 1\nlength = 5\n"
        "[[plan]]\nat = 40\nkind = 'crash'\npeer = 3\n"
        "[[plan]]\nat = 50\nkind = 'join'\npeer = 4\n"
    );
    const std::tuple<Duration, std::uint32_t, Kind, std::uint32_t> expected[] = {
        {10s, 1, Kind::Freeze, 0},
        {15s, 1, Kind::Thaw, 0},
        {20s, 2, Kind::SlowDown, 0},
        {25s, 2, Kind::SpeedBack, 0},
        {30s, 3, Kind::Block, 1},
        {35s, 3, Kind::Unblock, 1},
        {40s, 3, Kind::Crash, 0},
        {50s, 4, Kind::Join, 0}};
    ASSERT_EQ(schedule.happenings.size(), std::size(expected));
    for (std::size_t i = 0; i < std::size(expected); ++i) {
        const Happening& next = schedule.happenings[i];
        EXPECT_EQ(
            std::tuple(next.at.time_since_epoch(), next.peer, next.kind, next.to), expected[i]
        ) << i
          << ' ' << name_of(next.kind);
    }
    EXPECT_FALSE(schedule.fleet[3].there_at_start);
    EXPECT_TRUE(schedule.fleet[2].there_at_start);
}

TEST(MakeSchedule, APeerWithoutTheMemoryForAStageNeverComes) {
    // Training and one snapshot take 52 bytes where the state takes 12; 16 counters 20 each.
    const std::string toml =
        "[pipeline]\nmicrobatches = 16\nstate_bytes = 12_000_000\n"
        "[[peers]]\nname = 'small'\nmemory_bytes = 52_000_319\ncount = 2\n"
        "[[peers]]\nname = 'large'\nmemory_bytes = 52_000_320\ncount = 2\n"
        "[[peers]]\nname = 'silent'\ncount = 4\n"
        "[churn]\nmtbf = '10min'\nabsence_mean = '1min'\n";
    const Schedule schedule = schedule_of("duration = '10h'\n" + toml);
    for (const FleetPeer& peer : schedule.fleet) {
        const bool small = peer.number <= 2;
        EXPECT_EQ(peer.there_at_start, !small) << peer.number;
        const auto own = of_peer(schedule, peer.number);
        const bool joins = std::any_of(own.begin(), own.end(), [](const Happening& next) {
            return next.kind == Kind::Join;
        });
        EXPECT_EQ(joins, !small) << peer.number;
    }
}

TEST(MakeSchedule, RefusesAFleetWithoutTheMemoryForAStage) {
    const auto schedule = make_schedule(
        scenario_of("[pipeline]\nstate_bytes = 12_000_000\n[[peers]]\ncount = 8\nmemory_bytes = 1\n"
        ),
        1
    );
    ASSERT_TRUE(schedule.has_error());
    EXPECT_EQ(schedule.error().detail, "s: no peer has the memory for pipeline.state_bytes");
}

TEST(MakeSchedule, ACrashEndsAFreezeWithoutAThaw) {
    const Schedule schedule = schedule_of(
        "[[peers]]\ncount = 4\n[[plan]]\nat = 10\nkind = 'freeze'\npeer = 1\nlength = 50\n"
        "[[plan]]\nat = 20\nkind = 'crash'\npeer = 1\n"
    );
    EXPECT_EQ(count(schedule, Kind::Freeze), 1U);
    EXPECT_EQ(count(schedule, Kind::Thaw), 0U);
}

TEST(MakeSchedule, SwizzledLinksComeBackInAnotherOrder) {
    const Schedule schedule = schedule_of(
        "[[peers]]\ncount = 30\n[[plan]]\nat = 10\nkind = 'cut_links'\npeer = 1\nlength = 60\n"
    );
    std::vector<std::uint32_t> cut;
    std::vector<std::uint32_t> mended;
    for (const Happening& next : schedule.happenings) {
        (next.kind == Kind::CutLink ? cut : mended).push_back(next.to);
        EXPECT_TRUE(
            next.kind == Kind::CutLink ? next.at < TimePoint(30s) : next.at > TimePoint(50s)
        );
    }
    EXPECT_EQ(cut.size(), 8U);
    EXPECT_NE(cut, mended);
    EXPECT_EQ(
        std::set<std::uint32_t>(cut.begin(), cut.end()),
        std::set<std::uint32_t>(mended.begin(), mended.end())
    );
}

TEST(MakeSchedule, APlannedCutOfOneLinkIsThatLink) {
    const Schedule schedule = schedule_of(
        "[[peers]]\ncount = 30\n"
        "[[plan]]\nat = 10\nkind = 'cut_links'\npeer = 1\nto = 7\nlength = 60\n"
    );
    ASSERT_EQ(schedule.happenings.size(), 2U);
    EXPECT_EQ(schedule.happenings[0].to, 7U);
    EXPECT_EQ(schedule.happenings[1].at, TimePoint(70s));
}

class MakeScheduleFromTrace : public testing::Test {
 protected:
    MakeScheduleFromTrace() { std::filesystem::create_directories(folder_); }

    ~MakeScheduleFromTrace() override {
        std::error_code ignored;
        std::filesystem::remove_all(folder_, ignored);
    }

    swarm::Result<Schedule> make(const std::string& trace) {
        std::ofstream(folder_ / "trace.csv") << trace;
        Scenario scenario =
            scenario_of("duration = 100\n[[peers]]\ncount = 4\n[churn]\ntrace = 'trace.csv'\n");
        scenario.folder = folder_.string();
        return make_schedule(scenario, 1);
    }

    std::filesystem::path folder_ =
        std::filesystem::path(testing::TempDir()) / "schedule_test_trace";
};

TEST_F(MakeScheduleFromTrace, APeerThatFirstJoinsIsNotThereAtTheStart) {
    const auto schedule = make("seconds,peer,event\n1,2,join\n2,3,leave\n50,3,join\n400,3,leave\n");
    ASSERT_TRUE(schedule.has_value()) << schedule.error().detail;
    EXPECT_TRUE(schedule->fleet[0].there_at_start);
    EXPECT_FALSE(schedule->fleet[1].there_at_start);
    EXPECT_TRUE(schedule->fleet[2].there_at_start);
    ASSERT_EQ(schedule->happenings.size(), 3U);  // the run ends before the last
    EXPECT_EQ(schedule->happenings[2].at, TimePoint(50s));
}

TEST_F(MakeScheduleFromTrace, ErrorsNameFileAndLine) {
    const auto disordered = make("2,3,leave\n1,2,leave\n");
    ASSERT_TRUE(disordered.has_error());
    const std::string file = (folder_ / "trace.csv").string();
    EXPECT_TRUE(disordered.error().detail.starts_with(file + ":2: is out of order"))
        << disordered.error().detail;
    std::filesystem::remove_all(folder_);
    Scenario scenario = scenario_of("[[peers]]\ncount = 4\n[churn]\ntrace = 'trace.csv'\n");
    scenario.folder = folder_.string();
    const auto missing = make_schedule(scenario, 1);
    ASSERT_TRUE(missing.has_error());
    EXPECT_EQ(missing.error().detail, file + ": churn.trace is not a file that can be read");
}

TEST(MakeSchedule, RefusesMoreThanItCanHold) {
    const auto crowd = make_schedule(
        scenario_of("duration = '1h'\n[[peers]]\ncount = 4\n[churn]\narrivals_per_hour = 1e6\n"), 1
    );
    ASSERT_TRUE(crowd.has_error());
    EXPECT_TRUE(crowd.error().detail.starts_with("s: churn.arrivals_per_hour brings more than 16384"
    )) << crowd.error().detail;
}

TEST(MakeSchedule, RefusesTooMuchBeforeItIsDrawn) {
    for (const char* storm :
         {"[faults]\nfreeze = { per_hour = 1e9, length_s = 1 }\n",
          "[churn]\nmtbf = '1us'\nabsence_mean = '1us'\n"}) {
        const auto schedule = make_schedule(
            scenario_of(std::string("duration = '1h'\n[[peers]]\ncount = 1000\n") + storm), 1
        );
        ASSERT_TRUE(schedule.has_error());
        EXPECT_EQ(
            schedule.error().detail,
            "s: more than 20000000 things would happen; lower the rates or the duration"
        );
    }
}

TEST(MakeSchedule, AThousandPeersForADayAndAHalf) {
    const Schedule schedule = schedule_of(
        "mode = 'fluid'\nduration = '32h'\n[[peers]]\ncount = 1000\n"
        "[churn]\nmtbf = '2h'\nabsence_mean = '10min'\n"
    );
    EXPECT_EQ(schedule.fleet.size(), 1000U);
    EXPECT_GT(schedule.happenings.size(), 25'000U);
}

}  // namespace
}  // namespace sim
