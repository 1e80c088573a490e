// Texts that begin as peers have read before: the next turn of a conversation, and others with the
// same beginning, share what was kept, and are the texts of one process, whichever peers die.
#include "tests/simulation/sessions/session_bed.hpp"

#include <gtest/gtest.h>

#include <cstdio>

namespace sim {
namespace {

using namespace std::chrono_literals;

constexpr std::uint32_t kFirstPrompt = 150;
constexpr std::uint32_t kTokens = 30;

node::SessionRequest first_turn() {
    node::SessionRequest request = session_request(1, kFirstPrompt, kTokens, Replay::Fast);
    request.keeps_for = 7;
    return request;
}

/// Makes a turn of the first one with its answer, and some tokens more in which turns differ.
node::SessionRequest next_turn(const SessionBed& bed, std::uint64_t number) {
    node::SessionRequest request = session_request(number, 20, kTokens, Replay::Fast);
    std::vector<std::uint32_t> prompt = first_turn().prompt;
    const std::vector<std::uint32_t>& said = bed.told(1).tokens;
    prompt.insert(prompt.end(), said.begin(), said.end());
    prompt.insert(prompt.end(), request.prompt.begin(), request.prompt.end());
    request.prompt = std::move(prompt);
    request.keeps_for = 7;
    return request;
}

/// Whole pages of the first turn: its last token was never read.
constexpr std::uint32_t kKept = (kFirstPrompt + kTokens - 1) / 64 * 64;

TEST(SessionKept, TheNextTurnReadsOnlyWhatIsNew) {
    SessionBed bed;
    bed.ask(first_turn());
    ASSERT_TRUE(bed.run());
    EXPECT_EQ(bed.told(1).reused, 0U);
    bed.ask(next_turn(bed, 2));
    ASSERT_TRUE(bed.run());
    EXPECT_EQ(bed.verdict(), "");
    EXPECT_EQ(bed.told(2).reused, kKept);
    bed.ask(next_turn(bed, 3));  // the same turn said otherwise
    ASSERT_TRUE(bed.run());
    EXPECT_EQ(bed.told(3).reused, kKept);
    EXPECT_EQ(bed.verdict(), "");
}

TEST(SessionKept, ThePagesAreFreeAfterTheirTime) {
    SessionBed bed;
    bed.ask(first_turn());
    ASSERT_TRUE(bed.run());
    bed.world().run_until([] { return false; }, 1s);  // the peers hear that the text has ended
    std::uint64_t held = 0;
    for (std::uint64_t number = 1; number <= bed.servers(); ++number) {
        held += bed.reserved(peer(number));
    }
    EXPECT_EQ(held, 3 * kKept) << "whole pages at one peer of each stage";
    bed.world().run_until([] { return false; }, sessions::KeptCaches::kTtl + 1s);
    for (std::uint64_t number = 1; number <= bed.servers(); ++number) {
        EXPECT_EQ(bed.reserved(peer(number)), 0U);
    }
    bed.ask(next_turn(bed, 2));
    ASSERT_TRUE(bed.run());
    EXPECT_EQ(bed.told(2).reused, 0U);
    EXPECT_EQ(bed.verdict(), "");
}

TEST(SessionKept, WhoNeedsTheRoomGetsIt) {
    SessionBedOptions options;
    options.budget_positions = 200;
    options.replicas = 1;
    SessionBed bed(options);
    bed.ask(first_turn());
    ASSERT_TRUE(bed.run());
    node::SessionRequest other = session_request(2, 150, 40, Replay::Fast);
    bed.ask(other);
    ASSERT_TRUE(bed.run());
    EXPECT_EQ(bed.told(2).failure, "");
    EXPECT_EQ(bed.verdict(), "");
}

TEST(SessionKept, AnotherScopeFindsNothing) {
    SessionBed bed;
    bed.ask(first_turn());
    ASSERT_TRUE(bed.run());
    node::SessionRequest other = next_turn(bed, 2);
    other.keeps_for = 8;
    bed.ask(other);
    ASSERT_TRUE(bed.run());
    EXPECT_EQ(bed.told(2).reused, 0U);
    EXPECT_EQ(bed.verdict(), "");
}

/// Another codec makes other rows of the same tokens.
TEST(SessionKept, AnotherCodecReadsTheTextAnew) {
    SessionBedOptions options;
    options.model.takes_any_row = true;
    SessionBed bed(options);
    node::SessionRequest first = first_turn();
    first.codecs = {protocol::CodecId::None};
    bed.ask(first);
    ASSERT_TRUE(bed.run());
    node::SessionRequest other = next_turn(bed, 2);
    other.codecs = {protocol::CodecId::Int8};
    bed.ask(other);
    ASSERT_TRUE(bed.run());
    EXPECT_EQ(bed.told(2).reused, 0U);
    EXPECT_EQ(bed.verdict(), "");
}

/// Three users go on from one beginning at once. A peer dies before each event of the run, so at
/// each moment of sharing, filling and drawing.
TEST(SessionKept, ACrashAtAnyEventOfThreeUsersWithOneBeginningChangesNoToken) {
    const auto ask_all = [](SessionBed& bed) {
        for (std::uint64_t number = 2; number <= 4; ++number) {
            node::SessionRequest request = next_turn(bed, number);
            request.tokens = 8;
            bed.ask(request);
        }
    };
    SessionBed calm;
    calm.ask(first_turn());
    ASSERT_TRUE(calm.run());
    const std::uint64_t from = calm.world().events();
    ask_all(calm);
    ASSERT_TRUE(calm.run());
    std::size_t reused = 0;
    std::size_t moves = 0;
    for (std::uint64_t at = from; at < calm.world().events(); ++at) {
        SessionBed bed;
        bed.ask(first_turn());
        ASSERT_TRUE(bed.run());
        ask_all(bed);
        bed.world().run_until([&] { return bed.world().events() >= at; }, 60s);
        const PeerId victim = peer(1 + at % bed.servers());
        bed.world().crash(victim);
        bed.run();
        ASSERT_EQ(bed.verdict(), "") << "event " << at;
        for (std::uint64_t number = 2; number <= 4; ++number) {
            moves += bed.told(number).moves.size();
            reused += bed.told(number).reused;
        }
        bed.world().run_until([] { return false; }, sessions::KeptCaches::kTtl + 1s);
        for (std::uint64_t number = 1; number <= bed.servers(); ++number) {
            if (peer(number) != victim) {
                ASSERT_EQ(bed.reserved(peer(number)), 0U) << "event " << at;
            }
        }
    }
    EXPECT_GT(moves, 50U);
    EXPECT_GT(reused, 10'000U);
    std::printf("%zu failovers, %zu tokens reused\n", moves, reused);
}

}  // namespace
}  // namespace sim
