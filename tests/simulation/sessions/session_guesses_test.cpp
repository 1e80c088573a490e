// Guesses of the next tokens: the text is that of one process without them, whichever peers die
// while a guess is under way or while a wrong one is cut out of the caches.
#include "tests/simulation/sessions/session_crashes.hpp"

#include <gtest/gtest.h>

#include <cstdio>

namespace sim {
namespace {

using namespace std::chrono_literals;

/// Texts of two tokens, so that some guesses are right and some are wrong.
SessionBedOptions two_words() {
    SessionBedOptions options;
    options.model.vocabulary = 2;
    options.model.spread = 2;
    return options;
}

node::SessionRequest guessing(std::uint64_t number, std::uint32_t tokens, double temperature) {
    node::SessionRequest request = session_request(number, 9, tokens, Replay::Fast);
    for (std::uint32_t& token : request.prompt) {
        token %= 2;
    }
    request.sampling.temperature = temperature;
    request.sampling.seed = number;
    request.guesses_max = protocol::kGuessesMax;
    return request;
}

TEST(SessionGuesses, BringSeveralTokensInOneRoundTrip) {
    SessionBed bed(two_words());
    bed.ask(guessing(1, 200, 0.8));
    ASSERT_TRUE(bed.run());
    EXPECT_EQ(bed.verdict(), "");
    const Told& told = bed.told(1);
    EXPECT_GT(told.right_guesses, 20U);
    EXPECT_GT(told.guesses, told.right_guesses) << "some were wrong, and were cut";
}

TEST(SessionGuesses, ACrashAtAnyEventChangesNoToken) {
    std::size_t moves = 0;
    for (const Replay replay : {Replay::Exact, Replay::Fast}) {
        node::SessionRequest request = guessing(1, 40, 0.8);
        request.exact = replay == Replay::Exact;
        moves += moves_under_crashes(two_words(), request);
    }
    EXPECT_GT(moves, 100U);
}

/// With a penalty each draw depends on the guesses before it.
TEST(SessionGuesses, ACrashAtAnyEventChangesNoDrawThatReadsTheText) {
    node::SessionRequest request = guessing(1, 30, 0.9);
    request.sampling.frequency_penalty = 0.1;
    request.sampling.repetition_penalty = 1.05;
    request.sampling.generated_from = 9;
    request.sampling.top = 2;
    EXPECT_GT(moves_under_crashes(two_words(), request), 30U);
}

/// Kills and freezes fall on sessions of ten thousand tokens each, half of them greedy.
TEST(SessionGuesses, AHundredThousandTokensAreThoseWithoutGuesses) {
    SessionBedOptions options = two_words();
    options.model.context = 16'384;
    options.budget_positions = 200'000;
    options.units_per_s = 40'000;
    options.model.weights = 3;
    SessionBed bed(options);
    for (std::uint64_t number = 1; number <= 10; ++number) {
        bed.ask(guessing(number, 10'000, number % 2 == 0 ? 0.8 : 0));
    }
    World& world = bed.world();
    std::uint64_t strikes = 0;
    while (!bed.run(1s) && strikes < 400) {
        const PeerId victim = peer(1 + 2 * (strikes % 3) + strikes / 3 % 2);
        if (++strikes % 2 == 0) {
            world.crash(victim);
        } else {
            world.freeze(victim);
        }
        bed.run(2s);
        world.is_frozen(victim) ? world.thaw(victim) : world.restart(victim);
    }
    EXPECT_TRUE(bed.run(3600s));
    EXPECT_EQ(bed.verdict(), "");
    std::size_t moves = 0;
    std::size_t right = 0;
    for (std::uint64_t number = 1; number <= 10; ++number) {
        moves += bed.told(number).moves.size();
        right += bed.told(number).right_guesses;
        EXPECT_EQ(bed.told(number).tokens.size(), 10'000U);
    }
    EXPECT_GT(moves, 50U);
    EXPECT_GT(right, 10'000U);
    std::printf("%zu failovers, %zu of 100,000 tokens guessed\n", moves, right);
}

}  // namespace
}  // namespace sim
