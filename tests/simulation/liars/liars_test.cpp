// Runs with liars: whatever they say, the run goes on to its end and commits the same as one
// process. A seed that fails prints the command that replays it. Stalls, and honest peers that were
// fenced, are counted and printed; no bound is asserted for them yet. SWARM_PACE=1 makes a stall a
// failure of Liars.OneSeed.
#include "tests/simulation/liars/liar_fleet.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <exception>

namespace sim {
namespace {

using namespace test;

constexpr std::uint64_t kSeedsPerTest = 50;

double seconds(swarm::Duration time) {
    return std::chrono::duration<double>(time).count();
}

void print(const LieCounts& lies) {
    for (std::size_t i = 0; i < kLies; ++i) {
        std::printf(
            "%s: %llu\n",
            name_of(static_cast<Lie>(i)),
            static_cast<unsigned long long>(lies.by_lie[i])
        );
    }
}

/// A move that is never made would prove nothing.
void expect_all_kinds(const LieCounts& lies) {
    constexpr std::size_t kRunKinds = 29;  // they come first in Body
    for (std::size_t kind = 0; kind < kRunKinds; ++kind) {
        EXPECT_GT(lies.by_message[kind], 0U) << "no liar sent a message of kind " << kind;
    }
    for (const std::uint64_t told : lies.by_lie) {
        EXPECT_GT(told, 0U);
    }
}

void expect_sound(std::uint64_t seed, const LiarOutcome& outcome) {
    std::string log;
    for (const std::string& line : outcome.log) {
        log += line + '\n';
    }
    EXPECT_EQ(outcome.verdict, "")
        << "replay with: SWARM_SEED=" << seed << " liars_test --gtest_filter=Liars.OneSeed\n"
        << (std::getenv("SWARM_SEED") ? log : "");
}

class ManyLiars : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(ManyLiars, NeitherEndNorChangeARun) {
    LieCounts lies;
    int stalled = 0;
    int fenced_too_many = 0;
    std::uint64_t fenced = 0;
    std::uint64_t fenced_honest = 0;
    swarm::Duration most{};
    for (std::uint64_t i = 0; i < kSeedsPerTest; ++i) {
        const std::uint64_t seed = GetParam() * kSeedsPerTest + i;
        const LiarOutcome outcome = run_with_liars(seed, Pace::Free);
        expect_sound(seed, outcome);
        stalled += outcome.stalled() ? 1 : 0;
        fenced_too_many += outcome.fenced_too_many() ? 1 : 0;
        lies.add(outcome.lies);
        fenced += outcome.fenced;
        fenced_honest += outcome.fenced_honest;
        most = std::max(most, outcome.longest - outcome.longest_honest);
    }
    print(lies);
    std::printf(
        "%llu fences, %llu of honest peers; a step took at most %.1f s longer; "
        "%d runs stalled, %d lost too many honest peers\n",
        static_cast<unsigned long long>(fenced),
        static_cast<unsigned long long>(fenced_honest),
        seconds(most),
        stalled,
        fenced_too_many
    );
    expect_all_kinds(lies);
}

INSTANTIATE_TEST_SUITE_P(Batch, ManyLiars, ::testing::Range<std::uint64_t>(0, 2));

constexpr std::uint64_t kSeedsMax = 50;

/// Counts the seeds until a run with the bug ends, changes or breaks a rule.
std::uint64_t seeds_until_caught(swarm::run::PlantedBugs bugs) {
    for (std::uint64_t seed = 0; seed < kSeedsMax; ++seed) {
        try {
            const LiarOutcome outcome = run_with_liars(seed, Pace::Free, bugs);
            if (!outcome.verdict.empty()) {
                std::printf(
                    "seed %llu: %s\n",
                    static_cast<unsigned long long>(seed),
                    outcome.verdict.c_str()
                );
                return seed;
            }
        } catch (const std::exception&) {
            continue;  // the role fell over its own bug, which is not judged here
        }
    }
    return kSeedsMax;
}

TEST(PlantedOmissions, ALegOfAnybodyIsCaught) {
    EXPECT_LT(seeds_until_caught({.leg_of_anyone = true}), kSeedsMax);
}

TEST(PlantedOmissions, ADecisionOfAnybodyIsCaught) {
    EXPECT_LT(seeds_until_caught({.decision_of_anyone = true}), kSeedsMax);
}

TEST(Liars, OneSeed) {
    const char* const text = std::getenv("SWARM_SEED");
    const std::uint64_t seed = text == nullptr ? 1 : std::strtoull(text, nullptr, 10);
    const Pace pace = std::getenv("SWARM_PACE") == nullptr ? Pace::Free : Pace::Watched;
    const LiarOutcome outcome = run_with_liars(seed, pace);
    expect_sound(seed, outcome);
    EXPECT_EQ(run_with_liars(seed, pace).trace_hash, outcome.trace_hash);
    std::printf(
        "%u liars, %u fences, %u of honest peers, longest step %.1f s, %.1f s without lies\n",
        outcome.liars,
        outcome.fenced,
        outcome.fenced_honest,
        seconds(outcome.longest),
        seconds(outcome.longest_honest)
    );
    print(outcome.lies);
}

}  // namespace
}  // namespace sim
