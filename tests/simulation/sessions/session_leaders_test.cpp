// Sessions of one client that are open at once and begin alike: the first one reads the beginning,
// at the start and after a failover, and the others share its pages. Their texts are those of one
// process, whoever dies, and no page stays behind.
#include "tests/simulation/sessions/session_bed.hpp"

#include <gtest/gtest.h>

#include <cstdio>

namespace sim {
namespace {

using namespace std::chrono_literals;

constexpr std::uint32_t kPage = 64;

/// Makes a text that begins as all others, with some tokens of its own at the end of its prompt.
node::SessionRequest alike(
    std::uint64_t number, std::uint32_t common, std::uint32_t own, std::uint32_t tokens
) {
    node::SessionRequest request = session_request(number, own, tokens, Replay::Fast);
    const std::vector<std::uint32_t> rest = request.prompt;
    request.prompt = session_request(900, common, 1).prompt;
    request.prompt.insert(request.prompt.end(), rest.begin(), rest.end());
    request.sampling.temperature = 1;
    request.sampling.seed = number;
    request.keeps_for = 7;
    return request;
}

swarm::TimePoint last_first_token(const SessionBed& bed, std::uint64_t answers) {
    swarm::TimePoint last{};
    for (std::uint64_t number = 1; number <= answers; ++number) {
        last = std::max(last, bed.told(number).first_at);
    }
    return last;
}

std::uint64_t held(const SessionBed& bed, std::optional<PeerId> but = {}) {
    std::uint64_t sum = 0;
    for (std::uint64_t number = 1; number <= bed.servers(); ++number) {
        sum += peer(number) != but ? bed.reserved(peer(number)) : 0;
    }
    return sum;
}

/// Asks for four answers to one prompt, and returns the time to the last one's first token.
swarm::Duration ask_four(SessionBed& bed, bool shared) {
    bed.world().run_until([] { return false; }, 5s);  // the client knows the peers
    const swarm::TimePoint asked = bed.world().now();
    for (std::uint64_t number = 1; number <= 4; ++number) {
        node::SessionRequest request = alike(number, 1000, 0, 8);
        request.keeps_for = shared ? request.keeps_for : std::nullopt;
        bed.ask(request);
    }
    EXPECT_TRUE(bed.run());
    EXPECT_EQ(bed.verdict(), "");
    return last_first_token(bed, 4) - asked;
}

TEST(SessionLeaders, FourAnswersReadTheirPromptOnce) {
    for (const std::uint32_t replicas : {1U, 2U}) {
        SessionBedOptions options;
        options.replicas = replicas;
        options.budget_positions = 8192;
        SessionBed alone(options);
        const swarm::Duration each = ask_four(alone, false);
        SessionBed bed(options);
        const swarm::Duration together = ask_four(bed, true);
        EXPECT_EQ(bed.told(1).reused, 0U);
        for (std::uint64_t number = 2; number <= 4; ++number) {
            EXPECT_EQ(bed.told(number).reused, 999 / kPage * kPage);
        }
        // Each stage reads the prompt once; then the rest of it and seven tokens for each answer.
        EXPECT_EQ(alone.rows(), 3U * 4 * (1000 + 7));
        EXPECT_EQ(bed.rows(), 3U * (1000 + 7 + 3 * (40 + 7)));
        EXPECT_LT(swarm::in_seconds(together), 0.75 * swarm::in_seconds(each));
        std::printf(
            "%u replicas: all first tokens after %.2f s, each alone %.2f s; %llu rows, alone "
            "%llu\n",
            replicas,
            swarm::in_seconds(together),
            swarm::in_seconds(each),
            static_cast<unsigned long long>(bed.rows()),
            static_cast<unsigned long long>(alone.rows())
        );
    }
}

TEST(SessionLeaders, WhoComesLaterSharesAnOpenText) {
    SessionBed bed;
    bed.ask(alike(1, 300, 10, 200));
    bed.world().run_until([&] { return bed.told(1).tokens.size() >= 20; }, 60s);
    bed.ask(alike(2, 300, 30, 10));
    ASSERT_TRUE(bed.world().run_until([&] { return bed.told(2).done; }, 60s));
    EXPECT_FALSE(bed.told(1).done);
    EXPECT_EQ(bed.told(2).reused, 300 / kPage * kPage);
    ASSERT_TRUE(bed.run());
    EXPECT_EQ(bed.verdict(), "");
}

TEST(SessionLeaders, AnotherScopeAndAShortBeginningWaitForNobody) {
    SessionBed bed;
    bed.ask(alike(1, 300, 10, 8));
    node::SessionRequest other = alike(2, 300, 10, 8);
    other.keeps_for = 8;
    bed.ask(other);
    bed.ask(alike(3, 100, 300, 8));  // one page in common
    ASSERT_TRUE(bed.run());
    EXPECT_EQ(bed.verdict(), "");
    EXPECT_EQ(bed.told(2).reused, 0U);
    EXPECT_EQ(bed.told(3).reused, 0U);
}

TEST(SessionLeaders, TheOthersGoOnWhenTheFirstIsCancelled) {
    SessionBed bed;
    for (std::uint64_t number = 1; number <= 3; ++number) {
        bed.ask(alike(number, 600, 10, 8));
    }
    bed.world().run_until([&] { return bed.rows() >= 500; }, 60s);
    ASSERT_TRUE(bed.told(1).tokens.empty());
    bed.cancel(1);
    ASSERT_TRUE(bed.world().run_until([&] { return bed.told(2).done && bed.told(3).done; }, 60s));
    EXPECT_EQ(bed.told(2).tokens, bed.expected(alike(2, 600, 10, 8)));
    EXPECT_EQ(bed.told(3).tokens, bed.expected(alike(3, 600, 10, 8)));
    EXPECT_GE(bed.told(2).reused + bed.told(3).reused, 600 / kPage * kPage);
}

/// A stage that reads nothing keeps those who wait no longer than their patience.
TEST(SessionLeaders, NobodyWaitsForEver) {
    SessionBedOptions options;
    options.replicas = 1;
    options.patience = 10s;
    SessionBed bed(options);
    for (std::uint64_t number = 1; number <= 3; ++number) {
        bed.ask(alike(number, 600, 10, 8));
    }
    bed.world().run_until([&] { return bed.rows() >= 300; }, 60s);
    bed.world().freeze(peer(3));
    ASSERT_TRUE(bed.run(25s));
    for (std::uint64_t number = 1; number <= 3; ++number) {
        EXPECT_NE(bed.told(number).failure, "");
    }
}

/// The peer of the middle stage dies while three texts are drawn. Another one reads their beginning
/// once, and of each text what is its own.
TEST(SessionLeaders, AFailoverRefillsTheBeginningOnce) {
    constexpr std::uint32_t kCommon = 320;
    const auto lose_one = [](bool shared) {
        SessionBedOptions options;
        options.stages = 3;
        options.replicas = 1;
        SessionBed bed(options);
        for (std::uint64_t number = 1; number <= 3; ++number) {
            node::SessionRequest request = alike(number, kCommon, 20, 40);
            request.keeps_for = shared ? request.keeps_for : std::nullopt;
            bed.ask(request);
        }
        const auto all_draw = [&] {
            return bed.told(1).tokens.size() > 5 && bed.told(2).tokens.size() > 5 &&
                   bed.told(3).tokens.size() > 5;
        };
        EXPECT_TRUE(bed.world().run_until(all_draw, 60s));
        bed.world().crash(peer(2));
        bed.world().restart(peer(2));  // its caches are gone
        const std::uint64_t before = bed.rows();
        EXPECT_TRUE(bed.run());
        EXPECT_EQ(bed.verdict(), "");
        std::uint64_t refilled = 0;
        std::uint64_t found = 0;
        for (std::uint64_t number = 1; number <= 3; ++number) {
            EXPECT_GE(bed.told(number).moves.size(), 1U);
            refilled += bed.told(number).refilled;
            found += bed.told(number).found;
        }
        std::printf(
            "%llu rows refilled, %llu found; %llu rows since\n",
            static_cast<unsigned long long>(refilled),
            static_cast<unsigned long long>(found),
            static_cast<unsigned long long>(bed.rows() - before)
        );
        return std::pair(refilled, found);
    };
    const auto each = lose_one(false);
    EXPECT_EQ(each.second, 0U);
    EXPECT_GE(each.first, 3U * kCommon);
    const auto once = lose_one(true);
    EXPECT_EQ(once.second, 2U * kCommon) << "the others find it";
    EXPECT_LE(once.first, kCommon + 3U * 60) << "one session reads the beginning";
}

/// A peer dies before each event of the run of three texts: while the first reads, while its pages
/// are left and shared, and while the others fill and draw.
TEST(SessionLeaders, ACrashAtAnyEventChangesNoTokenAndLeavesNoPage) {
    const auto ask_all = [](SessionBed& bed) {
        for (std::uint64_t number = 1; number <= 3; ++number) {
            bed.ask(alike(number, 150, 10, 6));
        }
    };
    SessionBed calm;
    ask_all(calm);
    ASSERT_TRUE(calm.run());
    ASSERT_EQ(calm.verdict(), "");
    std::size_t reused = 0;
    std::size_t moves = 0;
    std::uint64_t found = 0;
    std::uint64_t refilled = 0;
    for (std::uint64_t at = 0; at < calm.world().events(); ++at) {
        SessionBed bed;
        ask_all(bed);
        bed.world().run_until([&] { return bed.world().events() >= at; }, 60s);
        const PeerId victim = peer(1 + at % bed.servers());
        bed.world().crash(victim);
        bed.run();
        ASSERT_EQ(bed.verdict(), "") << "event " << at;
        for (std::uint64_t number = 1; number <= 3; ++number) {
            moves += bed.told(number).moves.size();
            reused += bed.told(number).reused;
            found += bed.told(number).found;
            refilled += bed.told(number).refilled;
        }
        bed.world().run_until([] { return false; }, sessions::KeptCaches::kTtl + 1s);
        ASSERT_EQ(held(bed, victim), 0U) << "event " << at;
    }
    EXPECT_GT(moves, 20U);
    EXPECT_GT(reused, 10'000U);
    EXPECT_GT(found, 500U);
    std::printf(
        "%zu failovers, %zu tokens reused, %llu rows refilled, %llu found\n",
        moves,
        reused,
        static_cast<unsigned long long>(refilled),
        static_cast<unsigned long long>(found)
    );
}

}  // namespace
}  // namespace sim
