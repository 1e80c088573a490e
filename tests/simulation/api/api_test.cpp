// The API over simulated peers: users, faults and hang-ups at every moment. An answer may only be
// that of one process, nothing may be lost, and no page may stay behind.
#include "swarm/base/rng.hpp"
#include "tests/simulation/api/api_bed.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace sim {
namespace {

using namespace std::chrono_literals;

SessionBedOptions small_fleet() {
    SessionBedOptions options;
    options.stages = 3;
    options.replicas = 2;
    return options;
}

/// Three users with the same beginning of a prompt; one of them draws with a penalty.
void ask_three(ApiBed& bed) {
    bed.ask({.user = "a", .prompt = "The same beginning", .tokens = 4});
    bed.ask({.user = "b", .prompt = "The same beginning", .tokens = 4, .seed = 2});
    bed.ask(
        {.user = "c",
         .prompt = "The same beginning, and more",
         .tokens = 4,
         .presence_penalty = 2,
         .streams = false}
    );
}

TEST(Api, ACrashAtAnyEventChangesNoAnswer) {
    ApiBed calm(small_fleet());
    ask_three(calm);
    ASSERT_TRUE(calm.run());
    ASSERT_EQ(calm.verdict(), "");
    for (std::uint64_t at = 0; at < calm.world().events(); ++at) {
        ApiBed bed(small_fleet());
        ask_three(bed);
        bed.world().run_until([&] { return bed.world().events() >= at; }, 60s);
        bed.world().crash(peer(1 + at % bed.sessions().servers()));
        bed.run();
        ASSERT_EQ(bed.verdict(), "") << "event " << at;
    }
}

/// A prompt of so many tokens: the model reads bytes.
std::string prompt_of(std::size_t tokens) {
    std::string prompt;
    for (std::size_t i = 0; i < tokens; ++i) {
        prompt += static_cast<char>('a' + swarm::mix_bits(i) % 26);
    }
    return prompt;
}

/// The first of four answers reads the prompt for all; another user's request reads it anew.
TEST(Api, FourAnswersReadTheirPromptOnce) {
    SessionBedOptions options = small_fleet();
    options.budget_positions = 16'384;
    ApiBed bed(options);
    bed.world().run_until([] { return false; }, 5s);
    const swarm::TimePoint asked = bed.world().now();
    const auto four = bed.ask({.user = "a", .prompt = prompt_of(1000), .tokens = 8, .answers = 4});
    ASSERT_TRUE(bed.run());
    ASSERT_EQ(bed.verdict(), "");
    const std::uint64_t rows = bed.sessions().rows();
    EXPECT_EQ(rows, 3U * (1000 + 7 + 3 * (40 + 7)));
    swarm::TimePoint last{};
    for (const auto& [choice, first] : bed.answered(four).first_at) {
        last = std::max(last, first);
    }
    std::printf("all first tokens after %.2f s\n", swarm::in_seconds(last - asked));
    bed.ask({.user = "b", .prompt = prompt_of(1000), .tokens = 8});
    ASSERT_TRUE(bed.run());
    ASSERT_EQ(bed.verdict(), "");
    EXPECT_EQ(bed.sessions().rows() - rows, 3U * (1000 + 7)) << "users share nothing";
}

/// Three answers, and another request with the same beginning. A peer dies at each event.
TEST(Api, ACrashAtAnyEventOfAnswersWithOnePromptChangesNone) {
    const auto ask_all = [](ApiBed& bed) {
        bed.ask({.prompt = prompt_of(150), .tokens = 4, .answers = 3});
        bed.ask({.prompt = prompt_of(150) + "more", .tokens = 4, .streams = false});
    };
    ApiBed calm(small_fleet());
    ask_all(calm);
    ASSERT_TRUE(calm.run());
    ASSERT_EQ(calm.verdict(), "");
    for (std::uint64_t at = 0; at < calm.world().events(); ++at) {
        ApiBed bed(small_fleet());
        ask_all(bed);
        bed.world().run_until([&] { return bed.world().events() >= at; }, 60s);
        bed.world().crash(peer(1 + at % bed.sessions().servers()));
        bed.run();
        ASSERT_EQ(bed.verdict(), "") << "event " << at;
    }
}

TEST(Api, AUserThatHangsUpAtAnyEventLeavesNoPage) {
    ApiBed calm(small_fleet());
    ask_three(calm);
    ASSERT_TRUE(calm.run());
    for (std::uint64_t at = 0; at < calm.world().events(); ++at) {
        ApiBed bed(small_fleet());
        ask_three(bed);
        bed.world().run_until([&] { return bed.world().events() >= at; }, 60s);
        const std::uint64_t gone = 1 + at % 3;
        if (!bed.answered(gone).ended) {
            bed.hang_up(gone);
        }
        ASSERT_TRUE(bed.run()) << "event " << at;
        ASSERT_EQ(bed.verdict(), "") << "event " << at;
        bed.world().run_until([&] { return bed.reserved() == 0; }, 10s);
        ASSERT_EQ(bed.reserved(), 0U) << "event " << at;
    }
}

/// Counts the peers in a state of the API.
std::size_t shown_peers(const std::string& state) {
    std::size_t count = 0;
    for (std::size_t at = state.find("decode_rows_per_s"); at != std::string::npos;
         at = state.find("decode_rows_per_s", at + 1)) {
        ++count;
    }
    return count;
}

TEST(Api, ACrashShowsWithinASecondWhetherThePeerAnswersOrNot) {
    constexpr auto kShownWithin = 1100ms;  // two states, and the way of the messages
    for (std::uint64_t server = 1; server <= 6; ++server) {
        for (swarm::Duration phase{}; phase < 2s; phase += 170ms) {
            for (const bool answers : {false, true}) {
                ApiBed bed(small_fleet());
                bed.watch();
                const auto shows = [&bed](std::size_t peers) {
                    return [&bed, peers] { return shown_peers(bed.seen()) == peers; };
                };
                ASSERT_TRUE(bed.world().run_until(shows(6), 60s)) << bed.seen();
                if (answers) {
                    bed.ask({.tokens = 400});
                }
                bed.world().run_until([] { return false; }, phase);
                bed.world().crash(peer(server));
                EXPECT_TRUE(bed.world().run_until(shows(5), kShownWithin))
                    << "server " << server << ", " << swarm::in_seconds(phase) << " s: "
                    << bed.seen();
                EXPECT_NE(bed.seen().find("peer gone"), std::string::npos);
            }
        }
    }
}

TEST(Api, AFrozenPeerDelaysAnAnswerAndNoMore) {
    for (std::uint64_t server = 1; server <= 6; ++server) {
        ApiBed bed(small_fleet());
        ask_three(bed);
        bed.world().run_until([&] { return bed.world().events() >= 150; }, 60s);
        bed.world().freeze(peer(server));
        ASSERT_TRUE(bed.run()) << server;
        EXPECT_EQ(bed.verdict(), "") << server;
    }
}

TEST(Api, AThousandUsersAreServedByTwoHundredPeersThatDie) {
    SessionBedOptions options;
    options.stages = 4;
    options.replicas = 50;
    options.model.layers = 8;
    options.budget_positions = 400;
    ApiBed bed(options);
    constexpr std::uint64_t kUsers = 1000;
    swarm::Rng rng(7, 0);
    std::uint64_t asked = 0;
    std::uint64_t killed = 0;
    while (asked < kUsers) {
        for (int burst = 0; burst < 20 && asked < kUsers; ++burst) {
            const std::string name = "user-" + std::to_string(++asked);
            const auto tokens = static_cast<std::uint32_t>(1 + rng.below(12));
            bed.ask({.user = name, .prompt = "Who is " + name, .tokens = tokens, .seed = asked});
        }
        bed.world().run_until([] { return false; }, 200ms);
        // Every tenth peer dies, one after the other, and stays away.
        if (killed < 20) {
            bed.world().crash(peer(1 + 10 * killed++));
        }
    }
    ASSERT_TRUE(bed.run());
    EXPECT_EQ(bed.verdict(), "");
}

TEST(Api, AUserWithManyRequestsWaitsBehindHimself) {
    SessionBedOptions options = small_fleet();
    options.budget_positions = 100'000;
    ApiBed bed(options);
    std::vector<std::uint64_t> flood;
    std::vector<std::uint64_t> guest;
    for (int i = 0; i < 250; ++i) {
        flood.push_back(bed.ask({.user = "flood", .tokens = 40, .seed = 1}));
    }
    bed.world().run_until([] { return false; }, 100ms);
    for (int i = 0; i < 8; ++i) {
        guest.push_back(bed.ask({.user = "guest", .tokens = 40, .seed = 1}));
    }
    ASSERT_TRUE(bed.run());
    EXPECT_EQ(bed.verdict(), "");
    const auto last = [&](const std::vector<std::uint64_t>& exchanges) {
        swarm::TimePoint end{};
        for (const std::uint64_t exchange : exchanges) {
            end = std::max(end, bed.answered(exchange).ended_at);
        }
        return end;
    };
    std::size_t flood_before = 0;
    for (const std::uint64_t exchange : flood) {
        flood_before += bed.answered(exchange).ended_at < last(guest) ? 1 : 0;
    }
    // The guest's texts began at once, beside the first ones of the flood.
    EXPECT_LE(flood_before, 2 * stacking::sessions::SessionClient::kSessionsMax);
    EXPECT_LT(last(guest), last(flood));
}

}  // namespace
}  // namespace sim
