// Long prompts: reading one counts as life, losses in the middle of one are made good, and a wait
// that ends says what is known.
#include "tests/simulation/sessions/session_bed.hpp"

#include <gtest/gtest.h>

namespace sim {
namespace {

using namespace std::chrono_literals;

constexpr std::uint32_t kPrompt = 3000;

/// Three stages that read 100 tokens a second each, and a client that waits for 10 s.
SessionBedOptions slow_readers() {
    SessionBedOptions options;
    options.units_per_s = 200;
    options.patience = 10s;
    options.budget_positions = 8000;
    options.kept_bytes_max = 1 << 24;
    return options;
}

TEST(SessionPrompts, APromptThatIsReadMayTakeLongerThanThePatience) {
    SessionBed bed(slow_readers());
    bed.ask(session_request(1, kPrompt, 5));
    EXPECT_TRUE(bed.run());
    EXPECT_EQ(bed.verdict(), "");
    EXPECT_GT(bed.world().now() - swarm::TimePoint(), 30s);
    EXPECT_TRUE(bed.told(1).moves.empty());
    const std::vector<std::uint32_t>& read = bed.told(1).read;
    ASSERT_GE(read.size(), 8U);
    EXPECT_LT(read.front(), 600U);
    EXPECT_GE(read.back(), 2800U);
    EXPECT_LE(read.back(), kPrompt);
    EXPECT_TRUE(std::ranges::is_sorted(read));
}

TEST(SessionPrompts, AShortPromptTellsNoProgress) {
    SessionBed bed;
    bed.ask(session_request(1, 5, 5));
    EXPECT_TRUE(bed.run());
    EXPECT_TRUE(bed.told(1).read.empty());
}

TEST(SessionPrompts, ALossInTheMiddleIsMadeGood) {
    for (const bool freeze : {false, true}) {
        for (std::uint64_t stage = 0; stage < 3; ++stage) {
            SessionBed bed(slow_readers());
            bed.ask(session_request(1, kPrompt, 3));
            const auto half = [&] {
                return !bed.told(1).read.empty() && bed.told(1).read.back() > 1500;
            };
            ASSERT_TRUE(bed.world().run_until(half, 60s));
            const PeerId first = peer(2 * stage + 1);
            const PeerId victim = bed.reserved(first) > 0 ? first : peer(2 * stage + 2);
            freeze ? bed.world().freeze(victim) : bed.world().crash(victim);
            EXPECT_TRUE(bed.run(180s));
            EXPECT_EQ(bed.verdict(), "") << "stage " << stage << (freeze ? " frozen" : " dead");
        }
    }
}

std::string failure_of(SessionBed& bed) {
    EXPECT_TRUE(bed.run());
    return bed.told(1).failure;
}

TEST(SessionPrompts, APromptThatNobodyReadsOnEndsWithWhatIsKnown) {
    SessionBed bed(slow_readers());
    bed.ask(session_request(1, kPrompt, 3));
    ASSERT_TRUE(bed.world().run_until([&] { return bed.told(1).read.size() > 3; }, 60s));
    bed.world().crash(peer(3));
    bed.world().crash(peer(4));
    const std::string failure = failure_of(bed);
    EXPECT_TRUE(failure.starts_with("no progress in 10 s: no peer is left for the layers 2 to 3"))
        << failure;
    EXPECT_NE(failure.find("the last trouble: "), std::string::npos) << failure;
}

TEST(SessionPrompts, AWaitThatEndsSaysWhetherTheDirectoryOrThePeersAreMissing) {
    SessionBedOptions options;
    options.patience = 10s;
    SessionBed unserved(options);
    for (std::uint64_t number = 1; number <= unserved.servers(); ++number) {
        unserved.world().crash(peer(number));
    }
    unserved.ask(session_request(1, 5, 3));
    EXPECT_EQ(
        failure_of(unserved),
        "no token in 10 s: nobody serves the model yet; are all layers of the model served?"
    );
    SessionBed alone(options);
    alone.world().crash(SessionBed::kDirectory);
    alone.ask(session_request(1, 5, 3));
    EXPECT_TRUE(failure_of(alone).starts_with("no token in 10 s: the directory cannot be reached: ")
    ) << alone.told(1).failure;
}

}  // namespace
}  // namespace sim
