// Sessions under each kind of fault, before every event: the tokens stay those of one process.
#include "tests/simulation/sessions/session_bed.hpp"

#include <gtest/gtest.h>

#include <cstdio>

namespace sim {
namespace {

using namespace std::chrono_literals;

void ask_two(SessionBed& bed, Replay replay) {
    bed.ask(session_request(1, 5, 8, replay));
    bed.ask(session_request(2, 3, 8, replay));
}

std::uint64_t events_of_two() {
    SessionBed bed;
    ask_two(bed, Replay::Exact);
    bed.run();
    return bed.world().events();
}

/// Number of failovers so far. A test without a failover would show nothing.
std::size_t moves_in_all = 0;

/// Returns the verdict of two requests with `fault` before event `at`.
template <class Fault>
std::string verdict_of(std::uint64_t at, Replay replay, Fault fault) {
    SessionBed bed;
    ask_two(bed, replay);
    bed.world().run_until([&] { return bed.world().events() >= at; }, 60s);
    fault(bed);
    bed.run();
    moves_in_all += bed.told(1).moves.size() + bed.told(2).moves.size();
    return bed.verdict();
}

TEST(Sessions, EqualOneProcess) {
    SessionBed bed;
    ask_two(bed, Replay::Exact);
    EXPECT_TRUE(bed.run());
    EXPECT_EQ(bed.verdict(), "");
    EXPECT_TRUE(bed.told(1).moves.empty());
}

TEST(Sessions, AreServedByPeersThatTheDirectoryHasPlaced) {
    SessionBedOptions options;
    options.directory_places = true;
    SessionBed bed(options);
    ask_two(bed, Replay::Exact);
    EXPECT_TRUE(bed.run());
    EXPECT_EQ(bed.verdict(), "");
}

/// The only two peers of a stage die for good; another peer restarts and is sent to that stage.
TEST(Sessions, GoOnWhenARestartedPeerTakesALostPlace) {
    SessionBedOptions options;
    options.directory_places = true;
    SessionBed bed(options);
    bed.ask(session_request(1, 5, 400));
    ASSERT_TRUE(bed.world().run_until([&] { return !bed.told(1).tokens.empty(); }, 10s));
    const protocol::LayerRange lost = bed.placed(peer(1));
    std::optional<PeerId> spare;
    for (std::uint64_t number = 1; number <= bed.servers(); ++number) {
        if (bed.placed(peer(number)) == lost) {
            bed.world().crash(peer(number));
        } else {
            spare = peer(number);
        }
    }
    bed.world().run_for(1s);
    bed.world().crash(*spare);
    bed.world().restart(*spare);
    EXPECT_TRUE(bed.run());
    EXPECT_EQ(bed.verdict(), "");
    EXPECT_EQ(bed.placed(*spare), lost);
}

TEST(Sessions, RowsOfManySessionsGoIntoOneCallOfTheDevice) {
    SessionBedOptions options;
    options.replicas = 1;
    SessionBed bed(options);
    for (std::uint64_t number = 1; number <= 20; ++number) {
        bed.ask(session_request(number, 1, 10));
    }
    EXPECT_TRUE(bed.run());
    EXPECT_EQ(bed.verdict(), "");
    EXPECT_GT(bed.largest_call(), 4U);
    EXPECT_LE(bed.largest_call(), 16U);
}

/// The hops that are left keep their rows, and the new one sends them none of these again.
TEST(Sessions, TakeOneFurtherRouteForAPeerThatIsLost) {
    const node::SessionRequest request = session_request(1, 5, 50);
    std::size_t moved = 0;
    for (std::uint64_t number = 1; number <= SessionBed().servers(); ++number) {
        SessionBed bed;
        bed.ask(request);
        ASSERT_TRUE(bed.world().run_until([&] { return bed.told(1).tokens.size() >= 20; }, 60s));
        const bool serves = bed.reserved(peer(number)) > 0;
        bed.world().crash(peer(number));
        EXPECT_TRUE(bed.run());
        EXPECT_EQ(bed.told(1).tokens, bed.expected(request));
        EXPECT_EQ(bed.told(1).routes, serves ? 2U : 1U) << "peer " << number;
        moved += serves ? 1 : 0;
    }
    EXPECT_EQ(moved, 3U);
}

TEST(Sessions, FreeTheirPagesAtTheEnd) {
    SessionBed bed;
    ask_two(bed, Replay::Exact);
    ASSERT_TRUE(bed.run());
    bed.world().run_for(100ms);
    for (std::uint64_t number = 1; number <= bed.servers(); ++number) {
        EXPECT_EQ(bed.reserved(peer(number)), 0U) << number;
    }
}

class SessionsUnderFaults : public testing::TestWithParam<Replay> {};

TEST_P(SessionsUnderFaults, SurviveTheKillOfAnyPeerAtEveryEvent) {
    const std::uint64_t events = events_of_two();
    ASSERT_GT(events, 100U);
    moves_in_all = 0;
    for (std::uint64_t victim = 1; victim <= 6; ++victim) {
        for (std::uint64_t at = 0; at < events; ++at) {
            const auto kill = [&](SessionBed& bed) { bed.world().crash(peer(victim)); };
            ASSERT_EQ(verdict_of(at, GetParam(), kill), "")
                << "peer " << victim << " before event " << at;
        }
    }
    EXPECT_GT(moves_in_all, events);
    const auto kills = static_cast<unsigned long long>(6 * events);
    std::printf("%llu kills, %zu failovers in mid-text\n", kills, moves_in_all);
}

TEST_P(SessionsUnderFaults, SurviveARestartWithTheSameIdAtEveryEvent) {
    const std::uint64_t events = events_of_two();
    for (std::uint64_t victim = 1; victim <= 6; ++victim) {
        for (std::uint64_t at = 0; at < events; at += 2) {
            const auto restart = [&](SessionBed& bed) { bed.world().restart(peer(victim)); };
            ASSERT_EQ(verdict_of(at, GetParam(), restart), "")
                << "peer " << victim << " before event " << at;
        }
    }
}

TEST_P(SessionsUnderFaults, SurviveTheLossOfAWholeStageThatComesBack) {
    const std::uint64_t events = events_of_two();
    for (std::uint64_t stage = 0; stage < 3; ++stage) {
        for (std::uint64_t at = 0; at < events; at += 4) {
            const auto restart = [&](SessionBed& bed) {
                bed.world().crash(peer(2 * stage + 1));
                bed.world().crash(peer(2 * stage + 2));
                bed.world().run_for(300ms);
                bed.world().restart(peer(2 * stage + 2));
            };
            ASSERT_EQ(verdict_of(at, GetParam(), restart), "")
                << "stage " << stage << " before event " << at;
        }
    }
}

TEST_P(SessionsUnderFaults, SurviveNeighboursThatDieTogether) {
    const std::uint64_t events = events_of_two();
    for (std::uint64_t at = 0; at < events; at += 2) {
        for (const auto& [one, other] : {std::pair{1, 3}, {1, 4}, {2, 3}, {2, 4}, {3, 5}, {4, 6}}) {
            const auto kill = [&](SessionBed& bed) {
                bed.world().crash(peer(static_cast<std::uint64_t>(one)));
                bed.world().crash(peer(static_cast<std::uint64_t>(other)));
            };
            ASSERT_EQ(verdict_of(at, GetParam(), kill), "")
                << "peers " << one << ", " << other << " before event " << at;
        }
    }
}

TEST_P(SessionsUnderFaults, SurviveAFreezeAtEveryEighthEvent) {
    const std::uint64_t events = events_of_two();
    for (std::uint64_t victim = 1; victim <= 6; ++victim) {
        for (std::uint64_t at = 0; at < events; at += 8) {
            const auto freeze = [&](SessionBed& bed) { bed.world().freeze(peer(victim)); };
            ASSERT_EQ(verdict_of(at, GetParam(), freeze), "")
                << "peer " << victim << " before event " << at;
            const auto pause = [&](SessionBed& bed) {
                bed.world().freeze(peer(victim));
                bed.world().run_for(2500ms);
                bed.world().thaw(peer(victim));
            };
            ASSERT_EQ(verdict_of(at, GetParam(), pause), "")
                << "pause of peer " << victim << " before event " << at;
        }
    }
}

TEST_P(SessionsUnderFaults, SurviveLostLinksAtEveryEvent) {
    const std::uint64_t events = events_of_two();
    for (std::uint64_t at = 0; at < events; at += 2) {
        const auto reset = [&](SessionBed& bed) {
            for (std::uint64_t one = 1; one <= 6; ++one) {
                const std::uint64_t other = one % 6 + 1;
                bed.world().reset_link(peer(one), peer(other), Lane::Bulk);
            }
            for (std::uint64_t one = 1 + at % 2; one <= 6; one += 2) {
                bed.world().reset_link(SessionBed::kClient, peer(one), Lane::Control);
                bed.world().reset_link(peer(1), peer(one), Lane::Bulk);
                bed.world().reset_link(peer(3), peer(one), Lane::Bulk);
            }
        };
        ASSERT_EQ(verdict_of(at, GetParam(), reset), "") << "before event " << at;
    }
}

INSTANTIATE_TEST_SUITE_P(
    Replays,
    SessionsUnderFaults,
    testing::Values(Replay::Fast, Replay::Exact),
    [](const testing::TestParamInfo<Replay>& replay) {
        return replay.param == Replay::Exact ? "Exact" : "Fast";
    }
);

}  // namespace
}  // namespace sim
