// Stories of sessions: cancel, no room, time to live, no peer left, paths, early exit, liars,
// silence.
#include "stacking/sessions/client_quota.hpp"
#include "swarm/protocol/limits.hpp"
#include "tests/simulation/sessions/session_bed.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace sim {
namespace {

using namespace std::chrono_literals;

std::uint64_t reserved_in_all(const SessionBed& bed) {
    std::uint64_t sum = 0;
    for (std::uint64_t number = 1; number <= bed.servers(); ++number) {
        sum += bed.reserved(peer(number));
    }
    return sum;
}

void run_to_token(SessionBed& bed, std::uint64_t request, std::size_t count) {
    const auto there = [&] { return bed.told(request).tokens.size() >= count; };
    ASSERT_TRUE(bed.world().run_until(there, 60s));
}

/// Returns the peer of this stage that has reserved pages.
PeerId serving(const SessionBed& bed, std::uint64_t stage) {
    const PeerId first = peer(2 * stage + 1);
    return bed.reserved(first) > 0 ? first : peer(2 * stage + 2);
}

TEST(SessionStories, ACancelFreesAllPagesAtOnce) {
    SessionBed bed;
    bed.ask(session_request(1, 5, 50));
    run_to_token(bed, 1, 3);
    EXPECT_EQ(reserved_in_all(bed), 3U * 55U);
    bed.cancel(1);
    bed.world().run_for(20ms);
    EXPECT_EQ(reserved_in_all(bed), 0U);
    const std::size_t tokens = bed.told(1).tokens.size();
    bed.world().run_for(10s);
    EXPECT_EQ(bed.told(1).tokens.size(), tokens);
    EXPECT_EQ(bed.told(1).failure, "");
}

TEST(SessionStories, AFullPeerIsPassedOver) {
    SessionBedOptions options;
    options.budget_positions = 60;
    SessionBed bed(options);
    bed.ask(session_request(1, 10, 40));
    bed.ask(session_request(2, 10, 40));
    EXPECT_TRUE(bed.run());
    EXPECT_EQ(bed.verdict(), "");
}

TEST(SessionStories, ASessionIsRefusedWithAWaitWhenAllPeersAreFull) {
    SessionBedOptions options;
    options.budget_positions = 60;
    SessionBed bed(options);
    for (std::uint64_t number = 1; number <= 3; ++number) {
        bed.ask(session_request(number, 10, 40));
        bed.world().run_for(40ms);
    }
    EXPECT_TRUE(bed.run());
    const std::string failure = bed.told(3).failure;
    EXPECT_NE(failure.find("are full; try again in about"), std::string::npos) << failure;
    EXPECT_EQ(bed.told(1).tokens, bed.expected(session_request(1, 10, 40)));
    EXPECT_EQ(bed.told(2).tokens, bed.expected(session_request(2, 10, 40)));
}

TEST(SessionStories, PagesOfAVanishedClientAreFreedSoonAfterItsLink) {
    SessionBed bed;
    bed.ask(session_request(1, 5, 50));
    run_to_token(bed, 1, 3);
    bed.world().crash(SessionBed::kClient);
    bed.world().run_for(sessions::kClientGrace - 1s);
    EXPECT_GT(reserved_in_all(bed), 0U);
    bed.world().run_for(2s);
    EXPECT_EQ(reserved_in_all(bed), 0U);
}

TEST(SessionStories, PagesOfAFrozenClientAreFreedAfterTheTtl) {
    SessionBedOptions options;
    options.ttl = 5s;
    SessionBed bed(options);
    bed.ask(session_request(1, 5, 50));
    run_to_token(bed, 1, 3);
    bed.world().freeze(SessionBed::kClient);
    bed.world().run_for(4s);
    EXPECT_GT(reserved_in_all(bed), 0U);
    bed.world().run_for(2s);
    EXPECT_EQ(reserved_in_all(bed), 0U);
}

TEST(SessionStories, AHoarderGivesItsPagesToTheNextClient) {
    SessionBedOptions options;
    options.budget_positions = 110;
    options.clients = 2;
    SessionBed bed(options);
    for (std::uint64_t number = 1; number <= 4; ++number) {  // two at each replica
        bed.ask(session_request(number, 5, 50), 0);
    }
    run_to_token(bed, 4, 1);
    bed.ask(session_request(9, 5, 20), 1);
    const auto done = [&] { return bed.told(9).done; };
    EXPECT_TRUE(bed.world().run_until(done, 30s));
    EXPECT_EQ(bed.told(9).failure, "");
    EXPECT_EQ(bed.told(9).tokens, bed.expected(session_request(9, 5, 20)));
    EXPECT_LT(bed.told(4).tokens.size(), 50U);  // the hoarder was still at work
    EXPECT_TRUE(bed.run());
    EXPECT_EQ(bed.verdict(), "");  // texts that gave way went on later, and no token changed
}

TEST(SessionStories, AClientThatWasFrozenBeyondTheTtlGoesOn) {
    SessionBedOptions options;
    options.ttl = 5s;
    SessionBed bed(options);
    bed.ask(session_request(1, 5, 20));
    run_to_token(bed, 1, 3);
    bed.world().freeze(SessionBed::kClient);
    bed.world().run_for(8s);
    bed.world().thaw(SessionBed::kClient);
    EXPECT_TRUE(bed.run());
    EXPECT_EQ(bed.verdict(), "");
}

TEST(SessionStories, ARequestEndsWithOneLineWhenAHopHasNoPeerLeft) {
    SessionBedOptions options;
    options.patience = 10s;
    SessionBed bed(options);
    bed.ask(session_request(1, 5, 50));
    run_to_token(bed, 1, 3);
    bed.world().crash(peer(3));
    bed.world().crash(peer(4));
    EXPECT_TRUE(bed.run());
    EXPECT_NE(bed.told(1).failure.find("no token in 10 s"), std::string::npos);
    bed.world().run_for(1s);
    EXPECT_EQ(bed.reserved(peer(1)) + bed.reserved(peer(2)), 0U);
}

TEST(SessionStories, TheDirectoryIsNotNeededOnceItWasAsked) {
    SessionBed bed;
    bed.ask(session_request(1, 5, 20));
    run_to_token(bed, 1, 3);
    bed.world().crash(SessionBed::kDirectory);
    bed.world().crash(serving(bed, 1));
    EXPECT_TRUE(bed.run());
    EXPECT_EQ(bed.verdict(), "");
}

TEST(SessionStories, AClientWaitsForADirectoryThatStartsLater) {
    SessionBed bed;
    bed.world().crash(SessionBed::kDirectory);
    bed.ask(session_request(1, 5, 5));
    bed.world().run_for(10s);
    bed.world().restart(SessionBed::kDirectory);
    EXPECT_TRUE(bed.run());
    EXPECT_EQ(bed.verdict(), "");
}

TEST(SessionStories, AKillIsNoticedAtOnceAndAFreezeWithinTwoSeconds) {
    for (std::uint64_t stage = 0; stage < 3; ++stage) {
        SessionBed killed;
        killed.ask(session_request(1, 5, 20));
        run_to_token(killed, 1, 5);
        killed.world().crash(serving(killed, stage));
        EXPECT_TRUE(killed.run());
        EXPECT_EQ(killed.verdict(), "");
        ASSERT_EQ(killed.told(1).moves.size(), 1U) << stage;
        EXPECT_LT(killed.told(1).moves[0].detected, 20ms);
        EXPECT_LT(killed.told(1).moves[0].resumed, 100ms);
        SessionBed frozen;
        frozen.ask(session_request(1, 5, 20));
        run_to_token(frozen, 1, 5);
        const auto since = frozen.world().now();
        frozen.world().freeze(serving(frozen, stage));
        run_to_token(frozen, 1, 7);
        EXPECT_LT(frozen.world().now() - since, 2s) << stage;
        EXPECT_TRUE(frozen.run());
        EXPECT_EQ(frozen.verdict(), "");
    }
}

TEST(SessionStories, ADeviceThatHangsIsLeftThoughItsPeerAnswers) {
    SessionBed bed;
    bed.ask(session_request(1, 5, 20));
    run_to_token(bed, 1, 5);
    bed.world().stall_jobs(serving(bed, 1), 1h);
    EXPECT_TRUE(bed.run(30s));
    EXPECT_EQ(bed.verdict(), "");
}

TEST(SessionStories, ABlockedLinkBetweenTwoPeersIsAvoided) {
    SessionBed bed;
    bed.ask(session_request(1, 5, 20));
    run_to_token(bed, 1, 5);
    bed.world().block(serving(bed, 0), serving(bed, 1));
    EXPECT_TRUE(bed.run(60s));
    EXPECT_EQ(bed.verdict(), "");
}

TEST(SessionStories, ARefillBeginsAtTheTokensWhenNoRowsAreKept) {
    SessionBedOptions options;
    options.kept_bytes_max = 0;
    for (std::uint64_t stage = 0; stage < 3; ++stage) {
        SessionBed bed(options);
        bed.ask(session_request(1, 5, 20));
        run_to_token(bed, 1, 5);
        bed.world().crash(serving(bed, stage));
        EXPECT_TRUE(bed.run());
        EXPECT_EQ(bed.verdict(), "");
        EXPECT_EQ(bed.told(1).moves.size(), 1U);
    }
}

TEST(SessionStories, ALongPromptSurvivesAKillWhileItIsRead) {
    for (std::uint64_t after = 0; after < 600; after += 20) {
        SessionBed bed;
        bed.ask(session_request(1, 700, 4, after % 40 == 0 ? Replay::Exact : Replay::Fast));
        bed.world().run_for(std::chrono::milliseconds(after));
        bed.world().crash(peer(1 + after / 20 % 6));
        EXPECT_TRUE(bed.run());
        ASSERT_EQ(bed.verdict(), "") << after;
    }
}

TEST(SessionStories, SamplingIsAFunctionOfSeedAndPosition) {
    std::vector<std::uint32_t> first;
    for (const bool kill : {false, true}) {
        SessionBed bed;
        node::SessionRequest request = session_request(1, 5, 20);
        request.sampling = {.temperature = 1, .seed = 3, .top = 2};
        bed.ask(request);
        run_to_token(bed, 1, 5);
        if (kill) {
            bed.world().crash(serving(bed, 2));
        }
        EXPECT_TRUE(bed.run());
        EXPECT_NE(bed.told(1).tokens, bed.expected(session_request(1, 5, 20)));
        first = kill ? first : bed.told(1).tokens;
        EXPECT_EQ(bed.told(1).tokens, first);
    }
}

/// With one token to draw from, a hot draw is the likeliest token, whichever peer makes it.
TEST(SessionStories, BoundsOfTheDrawReachTheHopThatDraws) {
    for (const bool by_k : {false, true}) {
        SessionBed bed;
        const node::SessionRequest greedy = session_request(1, 5, 20);
        node::SessionRequest request = greedy;
        request.sampling = {.temperature = 5, .seed = 3, .top = 2, .top_p = 1e-6};
        if (by_k) {
            request.sampling.top_p = 0;
            request.sampling.top_k = 1;
        }
        bed.ask(request);
        run_to_token(bed, 1, 5);
        bed.world().crash(serving(bed, 2));
        EXPECT_TRUE(bed.run());
        EXPECT_EQ(bed.told(1).tokens, bed.expected(greedy)) << (by_k ? "top-k" : "top-p");
    }
}

TEST(SessionStories, ImpossibleBoundsOfTheDrawAreRefused) {
    SessionBed bed;
    node::SessionRequest request = session_request(1, 5, 5);
    request.sampling.top_p = std::nan("");
    bed.ask(request);
    request.request = 2;
    request.sampling.top_p = 0;
    request.sampling.top_k = protocol::kTopTokensMax + 1;
    bed.ask(request);
    EXPECT_TRUE(bed.run());
    for (const std::uint64_t number : {1, 2}) {
        EXPECT_NE(bed.told(number).failure.find("top-k is at most 64"), std::string::npos);
    }
}

/// Applies `change` to the server's messages of this kind.
template <class Kind, class Change>
Lie lie_in(Change change) {
    return [change](protocol::Body& body) {
        if (auto* told = std::get_if<Kind>(&body)) {
            change(*told);
        }
    };
}

std::vector<Lie> lies() {
    using protocol::SessionOpened;
    using protocol::SessionRows;
    using protocol::SessionToken;
    return {
        lie_in<SessionRows>([](SessionRows& rows) { ++rows.position; }),
        lie_in<SessionRows>([](SessionRows& rows) { rows.position -= rows.position > 0 ? 1 : 0; }),
        lie_in<SessionRows>([](SessionRows& rows) { ++rows.id.route; }),
        lie_in<SessionRows>([](SessionRows& rows) { ++rows.id.session; }),
        lie_in<SessionRows>([](SessionRows& rows) { ++rows.rows; }),
        lie_in<SessionRows>([](SessionRows& rows) { rows.wanted = false; }),
        lie_in<SessionOpened>([](SessionOpened& opened) { opened.filled_upto += 3; }),
        lie_in<SessionOpened>([](SessionOpened& opened) { opened.kept_from = 0; }),
        lie_in<SessionOpened>([](SessionOpened& opened) { ++opened.id.route; }),
        lie_in<SessionOpened>([](SessionOpened& opened) { opened.codec = protocol::CodecId::Fp16; }
        ),
        lie_in<SessionToken>([](SessionToken& token) { ++token.position; }),
        lie_in<SessionToken>([](SessionToken& token) { ++token.id.route; }),
        lie_in<SessionToken>([](SessionToken& token) { token.token += 97; }),
        lie_in<SessionToken>([](SessionToken& token) { token.id.session ^= 1; })};
}

TEST(SessionStories, ALiarIsAvoided) {
    std::size_t number = 0;
    for (const Lie& lie : lies()) {
        ++number;
        for (std::uint64_t liar = 1; liar <= 6; ++liar) {
            SessionBedOptions options;
            options.liar = liar;
            options.lie = lie;
            options.kept_bytes_max = liar % 2 == 0 ? 0 : 1 << 20;
            SessionBed bed(options);
            bed.ask(session_request(1, 5, 8));
            bed.ask(session_request(2, 3, 8));
            run_to_token(bed, 1, 3);
            bed.world().reset_link(SessionBed::kClient, peer(liar % 2 + 3), Lane::Control);
            EXPECT_TRUE(bed.run());
            ASSERT_EQ(bed.verdict(), "") << "lie " << number << " of peer " << liar;
        }
    }
}

node::SessionRequest with_path(std::vector<std::uint32_t> path, double exit_threshold = 2) {
    node::SessionRequest request = session_request(1, 5, 12);
    request.path = std::move(path);
    request.exit_threshold = exit_threshold;
    return request;
}

SessionBedOptions four_stages(bool tied = false) {
    SessionBedOptions options;
    options.stages = 4;
    options.model.layers = 8;
    options.model.tied = tied;
    return options;
}

/// Kills each peer at several tokens, one kill per run.
void survives_kills(
    const node::SessionRequest& request, const SessionBedOptions& options = four_stages()
) {
    for (std::uint64_t victim = 1; victim <= 8; ++victim) {
        for (std::size_t token = 0; token < 12; token += 3) {
            SessionBed bed(options);
            bed.ask(request);
            run_to_token(bed, 1, token);
            bed.world().crash(peer(victim));
            EXPECT_TRUE(bed.run());
            ASSERT_EQ(bed.verdict(), "") << "peer " << victim << " at token " << token;
        }
    }
}

TEST(SessionPaths, ArePartOfTheSession) {
    const auto plain = with_path({});
    const auto looped = with_path({0, 1, 2, 1, 2, 3});
    const auto swapped = with_path({0, 2, 1, 3});
    survives_kills(looped);
    survives_kills(swapped);
    survives_kills(with_path({0, 1, 1, 1, 3}));
    survives_kills(with_path({0, 3, 0, 1, 3})
    );  // first and last stage in the middle take and give rows
    const SessionBed bed(four_stages());
    EXPECT_NE(bed.expected(plain), bed.expected(looped));
    EXPECT_NE(bed.expected(plain), bed.expected(swapped));
    EXPECT_EQ(bed.expected(plain), bed.expected(with_path({0, 1, 2, 3})));
}

TEST(SessionPaths, APathOfATiedModelBeginsAndEndsAtEitherEnd) {
    survives_kills(with_path({3, 0, 3}), four_stages(true));
    survives_kills(with_path({0, 1, 0}, 0.2), four_stages(true));
    SessionBedOptions two = four_stages(true);
    two.stages = 2;
    two.replicas = 1;
    for (const auto& path : std::vector<std::vector<std::uint32_t>>{{1, 0, 1}, {1, 0}, {1}, {0}}) {
        SessionBed bed(two);
        bed.ask(with_path(path));
        EXPECT_TRUE(bed.run());
        EXPECT_EQ(bed.verdict(), "");
        EXPECT_NE(bed.told(1).tokens, bed.expected(with_path({})));
    }
}

/// At one peer, hops that take tokens meet hops that take rows.
TEST(SessionPaths, PathsOfManySessionsMeetAtTheSamePeers) {
    SessionBedOptions options = four_stages();
    options.replicas = 1;
    SessionBed bed(options);
    for (std::uint64_t number = 1; number <= 6; ++number) {
        node::SessionRequest request = session_request(number, 5, 30);
        request.path = number % 2 == 0 ? std::vector<std::uint32_t>{0, 1, 2, 3}
                                       : std::vector<std::uint32_t>{0, 3, 0, 3};
        bed.ask(request);
    }
    EXPECT_TRUE(bed.run());
    EXPECT_EQ(bed.verdict(), "");
    EXPECT_GT(bed.largest_call(), 1U);
}

TEST(SessionPaths, ALoopStaysAtTheOnlyPeerOfItsStage) {
    SessionBedOptions options;
    options.replicas = 1;
    SessionBed bed(options);
    bed.ask(with_path({0, 1, 1, 2}));
    EXPECT_TRUE(bed.run());
    EXPECT_EQ(bed.verdict(), "");
}

TEST(SessionPaths, ImpossiblePathsAreRefusedAtOnce) {
    for (const auto& path :
         std::vector<std::vector<std::uint32_t>>{{1, 2}, {0, 1}, {2, 0, 1}, {0, 7, 2}, {0}}) {
        SessionBed bed;
        bed.ask(with_path(path));
        EXPECT_TRUE(bed.run(10s));
        EXPECT_NE(bed.told(1).failure.find("the path must begin with"), std::string::npos);
    }
    for (const auto& path : std::vector<std::vector<std::uint32_t>>{{1, 3}, {3, 1}, {0, 4, 3}}) {
        SessionBed bed(four_stages(true));
        bed.ask(with_path(path));
        EXPECT_TRUE(bed.run(10s));
        EXPECT_NE(bed.told(1).failure.find("the path must begin and end"), std::string::npos);
    }
}

TEST(SessionPaths, ATokenMayExitEarlyAndCachesHaveNoGap) {
    constexpr double kOften = 0.2;
    SessionBed bed;
    EXPECT_NE(bed.expected(with_path({}, kOften)), bed.expected(with_path({})));
    EXPECT_EQ(bed.expected(with_path({}, 1.1)), bed.expected(with_path({})));
    for (const double threshold : {0.0, 0.1, kOften, 0.4, 1.1}) {
        survives_kills(with_path({}, threshold));
    }
}

}  // namespace
}  // namespace sim
