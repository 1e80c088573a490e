// Runs with liars: whatever they say, the run goes on to its end, commits the same as one process,
// stalls for no longer than kStallOfOne for each liar, and loses at most one honest peer for each.
// A seed that fails prints the command that replays it. SWARM_PACE=1 ends it where it stalls.
#include "tests/simulation/liars/liar_fleet.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <optional>
#include <vector>

namespace sim {
namespace {

using namespace std::chrono_literals;
using namespace test;

constexpr std::uint64_t kSeedsPerTest = 50;

std::optional<std::size_t> number_of(const char* variable) {
    const char* const text = std::getenv(variable);
    return text == nullptr ? std::nullopt : std::optional(std::strtoull(text, nullptr, 10));
}

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
    EXPECT_EQ(outcome.fault(), "")
        << "replay with: SWARM_SEED=" << seed << " liars_test --gtest_filter=Liars.OneSeed\n"
        << (std::getenv("SWARM_SEED") ? log : "");
}

class ManyLiars : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(ManyLiars, NeitherEndNorChangeARun) {
    LieCounts lies;
    int stalled = 0;
    std::uint64_t fenced = 0;
    std::uint64_t fenced_honest = 0;
    swarm::Duration most{};
    for (std::uint64_t i = 0; i < kSeedsPerTest; ++i) {
        const std::uint64_t seed = GetParam() * kSeedsPerTest + i;
        const LiarOutcome outcome = run_with_liars(seed, Pace::Free);
        expect_sound(seed, outcome);
        stalled += outcome.delay() > 10s ? 1 : 0;
        lies.add(outcome.lies);
        fenced += outcome.fenced;
        fenced_honest += outcome.fenced_honest;
        most = std::max(most, outcome.delay());
    }
    print(lies);
    std::printf(
        "%llu fences, %llu of honest peers; a step took at most %.1f s longer; "
        "in %d runs one took more than 10 s longer\n",
        static_cast<unsigned long long>(fenced),
        static_cast<unsigned long long>(fenced_honest),
        seconds(most),
        stalled
    );
    expect_all_kinds(lies);
}

/// 200 runs where nothing else is said; liars_long has 2,000.
std::uint64_t batches() {
    return number_of("SWARM_LIAR_BATCHES").value_or(4);
}

INSTANTIATE_TEST_SUITE_P(Batch, ManyLiars, ::testing::Range<std::uint64_t>(0, batches()));

constexpr std::uint64_t kSeedsMax = 50;

/// A rule that is switched off, and the bent of liars that shows it.
struct Omission {
    const char* name;
    bool swarm::run::PlantedBugs::*rule;
    Liar::Bent bent{};
};

/// Counts the seeds until a run ends, changes, stalls, loses honest peers or breaks a rule.
std::uint64_t seeds_until_caught(const Omission& omission, bool is_planted) {
    swarm::run::PlantedBugs bugs;
    bugs.*omission.rule = is_planted;
    for (std::uint64_t seed = 0; seed < kSeedsMax; ++seed) {
        try {
            const LiarOutcome outcome = run_with_liars(seed, Pace::Free, bugs, omission.bent);
            if (!outcome.fault().empty()) {
                std::printf(
                    "seed %llu: %s\n",
                    static_cast<unsigned long long>(seed),
                    outcome.fault().c_str()
                );
                return seed;
            }
        } catch (const std::exception&) {
            continue;  // the role fell over its own bug, which is not judged here
        }
    }
    return kSeedsMax;
}

template <class Message>
std::size_t kind_of() {
    return swarm::protocol::Body(Message{}).index();
}

std::vector<Omission> omissions() {
    namespace protocol = swarm::protocol;
    using Bugs = swarm::run::PlantedBugs;
    return {
        {"ALegOfAnyone", &Bugs::leg_of_anyone},
        {"ADecisionOfAnyone", &Bugs::decision_of_anyone},
        {"APathOfAnyone", &Bugs::path_of_anyone, {kind_of<protocol::Path>(), {}}},
        {"TheFirstVoteCounts", &Bugs::first_vote_counts, {kind_of<protocol::Applied>(), {}}},
        {"ACountIsUnchecked", &Bugs::count_unchecked, {kind_of<protocol::Reduced>(), {}}},
        {"SquaresAreUnchecked", &Bugs::squares_unchecked, {kind_of<protocol::Reduced>(), {}}},
        {"ADropOfOneSkips", &Bugs::drop_of_one, {kind_of<protocol::Fail>(), {}}},
        {"AFailedDonorIsAskedAgain", &Bugs::failed_donor_again, {{}, kind_of<protocol::Chunk>()}},
        {"WhoWasCaughtComesBack", &Bugs::caught_come_back},
    };
}

class PlantedOmissions : public ::testing::TestWithParam<Omission> {};

TEST_P(PlantedOmissions, AreCaught) {
    const std::uint64_t seed = seeds_until_caught(GetParam(), true);
    ASSERT_LT(seed, kSeedsMax);
    EXPECT_EQ(seeds_until_caught(GetParam(), false), kSeedsMax) << "it is the rule that is caught";
}

INSTANTIATE_TEST_SUITE_P(
    Of,
    PlantedOmissions,
    ::testing::ValuesIn(omissions()),
    [](const auto& tested) { return tested.param.name; }
);

/// SWARM_INVENTS and SWARM_WITHHOLDS give all liars a bent for a kind of message, by its place in
/// Body.
TEST(Liars, OneSeed) {
    const std::uint64_t seed = number_of("SWARM_SEED").value_or(1);
    const Pace pace = std::getenv("SWARM_PACE") == nullptr ? Pace::Free : Pace::Watched;
    const Liar::Bent bent{number_of("SWARM_INVENTS"), number_of("SWARM_WITHHOLDS")};
    const LiarOutcome outcome = run_with_liars(seed, pace, {}, bent);
    expect_sound(seed, outcome);
    EXPECT_EQ(run_with_liars(seed, pace, {}, bent).trace_hash, outcome.trace_hash);
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
