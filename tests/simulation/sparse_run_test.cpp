// Mode sparse over peers: whichever peers die or freeze, the replicas of a stage have the same
// weights after each exchange, and each microbatch counts once per stage in each step (the
// checker's P1, P4 and I2).
#include "swarm/run/versions.hpp"
#include "tests/simulation/chaos.hpp"
#include "tests/simulation/exchange_watch.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iterator>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace sim {
namespace {

using namespace std::chrono_literals;
namespace protocol = swarm::protocol;

constexpr std::uint64_t kSteps = 12;

RunWorldOptions sparse_three_by_two(std::uint64_t seed, swarm::run::PlantedBugs bugs = {}) {
    RunWorldOptions options = three_by_two(seed, kSteps, bugs);
    options.config.mode = swarm::run::SyncMode::Sparse;
    options.config.sync_every = 3;
    return options;
}

/// Messages and their counts that a run shows on its wires.
struct Seen {
    std::uint64_t shares = 0;             // PARTs
    std::set<std::uint64_t> without_all;  // exchanges whose shares leave out microbatches
    std::uint64_t anew = 0;               // rounds that began anew in a step
    std::optional<ExchangeWatch> exchanges;

    void watch(RunWorld& run, const swarm::run::RunConfig& config) {
        exchanges.emplace(run, config);
        run.observe_sends([this, &config](PeerId from, const node::Send& send) {
            exchanges->on_send(from, send);
            const auto& body = send.message.body;
            shares += std::holds_alternative<protocol::Part>(body) ? 1 : 0;
            const auto* const recall = std::get_if<protocol::Recall>(&body);
            anew += recall && recall->void_all && recall->version.step > 0 ? 1 : 0;
            const auto* const reduce = std::get_if<protocol::Reduce>(&body);
            if (reduce && swarm::run::is_exchange(config, reduce->version.step)) {
                std::uint64_t sum = 0;
                for (const protocol::Trained& share : reduce->shares) {
                    sum += share.microbatches;
                }
                EXPECT_LE(sum, config.sync_every * config.microbatches) << "one counts twice";
                if (sum < config.sync_every * config.microbatches) {
                    without_all.insert(reduce->version.step);
                }
            }
        });
    }
};

void expect_whole(const RunWorld& run) {
    EXPECT_TRUE(run.finished());
    EXPECT_FALSE(run.failure()) << run.failure()->text;
    EXPECT_EQ(run.violations(), std::vector<std::string>{});
    std::set<std::uint64_t> steps;
    for (const node::StepCommitted& step : run.steps()) {
        steps.insert(step.step);
        EXPECT_EQ(step.counted, step.expected);
    }
    EXPECT_EQ(steps.size(), kSteps);
}

TEST(SparseRun, ReplicasShareTheirTraining) {
    const RunWorldOptions options = sparse_three_by_two(1);
    RunWorld run(options);
    Seen seen;
    seen.watch(run, options.config);
    ASSERT_TRUE(run.run(300s));
    expect_whole(run);
    EXPECT_EQ(seen.exchanges->violations(), std::vector<std::string>{});
    EXPECT_EQ(seen.exchanges->recomputed(), 4U * 3U);
    // Four exchanges in each of three stages, and each of two replicas sends to the other.
    EXPECT_EQ(seen.shares, 4U * 3U * 2U);
    EXPECT_TRUE(seen.without_all.empty());
}

/// Objections of the checker, of the watch over shares, and of replicas that find that they do not
/// agree.
std::vector<std::string> objections(const RunWorld& run, const Seen& seen) {
    std::vector<std::string> found = run.violations();
    const std::vector<std::string>& wrong = seen.exchanges->violations();
    found.insert(found.end(), wrong.begin(), wrong.end());
    std::ranges::copy_if(run.log(), std::back_inserter(found), [](const std::string& line) {
        return line.find("differs from its replicas'") != std::string::npos;
    });
    return found;
}

struct Outcome {
    std::uint64_t trace = 0;
    std::uint64_t fenced = 0;
    std::size_t poorer = 0;
    std::uint64_t anew = 0;
    std::uint64_t recomputed = 0;  // exchanges of a stage
};

Outcome chaos(std::uint64_t seed) {
    const RunWorldOptions options = sparse_three_by_two(seed);
    RunWorld run(options);
    HealthWatch health(run);
    Seen seen;
    seen.watch(run, options.config);
    run_chaos(run, health, seed);
    std::string log = "replay with: SWARM_SEED=" + std::to_string(seed) + "\n";
    for (const std::string& line : run.log()) {
        log += line + '\n';
    }
    SCOPED_TRACE(log);
    expect_whole(run);
    EXPECT_EQ(objections(run, seen), std::vector<std::string>{});
    return {
        run.world().trace_hash(),
        run.fenced(),
        seen.without_all.size(),
        seen.anew,
        seen.exchanges->recomputed()};
}

TEST(SparseRun, SurvivesCrashesAndFreezes) {
    const char* const one = std::getenv("SWARM_SEED");
    const std::uint64_t first = one ? std::strtoull(one, nullptr, 10) : 1;
    const std::uint64_t last = one ? first : 60;
    std::uint64_t fenced = 0;
    std::size_t poorer = 0;
    std::uint64_t anew = 0;
    std::uint64_t recomputed = 0;
    for (std::uint64_t seed = first; seed <= last && !testing::Test::HasFailure(); ++seed) {
        const Outcome outcome = chaos(seed);
        fenced += outcome.fenced;
        poorer += outcome.poorer;
        anew += outcome.anew;
        recomputed += outcome.recomputed;
        if (seed % 20 == 0 || one) {
            EXPECT_EQ(chaos(seed).trace, outcome.trace) << "seed " << seed << " differs";
        }
    }
    std::printf(
        "%llu fences, %zu exchanges without all microbatches, %llu rounds begun anew, "
        "%llu exchanges of a stage recomputed\n",
        static_cast<unsigned long long>(fenced),
        poorer,
        static_cast<unsigned long long>(anew),
        static_cast<unsigned long long>(recomputed)
    );
    if (!one) {
        // At most 60 x 4 x 3; fewer where a stage has one replica left.
        EXPECT_GT(recomputed, 600U);
        EXPECT_GT(poorer, 0U);
        EXPECT_GT(anew, 0U);
    }
}

/// Counts the seeds until one of the checks objects.
std::uint64_t seeds_until_caught(swarm::run::PlantedBugs bugs) {
    constexpr std::uint64_t kSeedsMax = 60;
    for (std::uint64_t seed = 1; seed <= kSeedsMax; ++seed) {
        const RunWorldOptions options = sparse_three_by_two(seed, bugs);
        RunWorld run(options);
        HealthWatch health(run);
        Seen seen;
        seen.watch(run, options.config);
        run_chaos(run, health, seed);
        const std::vector<std::string> found = objections(run, seen);
        if (!found.empty()) {
            const auto number = static_cast<unsigned long long>(seed);
            std::printf("seed %llu: %s\n", number, found.front().c_str());
            return seed;
        }
    }
    return kSeedsMax + 1;
}

TEST(PlantedBugs, AShareThatCountsTwiceIsCaught) {
    EXPECT_LE(seeds_until_caught({.share_twice = true}), 60U);
}

TEST(PlantedBugs, AShareOfAnotherExchangeIsCaught) {
    EXPECT_LE(seeds_until_caught({.share_of_another = true}), 60U);
}

TEST(SparseRun, ReportsTheLossThatComesWithAReplica) {
    const RunWorldOptions options = sparse_three_by_two(4);
    RunWorld run(options);
    const std::uint64_t whole = options.config.sync_every * options.config.microbatches;
    std::uint64_t missing = 0;  // in the poorest exchange
    std::vector<node::ShareLost> lost;
    run.observe_reports([&](PeerId, const node::Report& report) {
        if (const auto* const share = std::get_if<node::ShareLost>(&report)) {
            lost.push_back(*share);
        }
    });
    run.observe_sends([&](PeerId, const node::Send& send) {
        const auto* const reduce = std::get_if<protocol::Reduce>(&send.message.body);
        if (reduce && swarm::run::is_exchange(options.config, reduce->version.step)) {
            std::uint64_t shared = 0;
            for (const protocol::Trained& share : reduce->shares) {
                shared += share.microbatches;
            }
            missing = std::max(missing, whole - shared);
        }
    });
    run.world().run_until([&] { return run.steps().size() == 5; }, 300s);  // two since the first
    run.world().crash(peer(2));
    ASSERT_TRUE(run.run(300s));
    expect_whole(run);
    ASSERT_EQ(lost.size(), 1U);
    EXPECT_EQ(lost.front().peer, peer(2));
    EXPECT_GT(missing, 0U);
    EXPECT_EQ(lost.front().microbatches, missing);
}

TEST(SparseRun, ANewCoordinatorBeginsTheRoundAnew) {
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
        const RunWorldOptions options = sparse_three_by_two(seed);
        RunWorld run(options);
        World& world = run.world();
        world.run_for(2s + seed * 400ms);
        world.crash(RunWorld::coordinator());
        world.run_for(1s);
        world.restart(RunWorld::coordinator());
        ASSERT_TRUE(run.run(300s)) << "seed " << seed;
        expect_whole(run);
    }
}

std::vector<float> unsent_by(const RunWorld& run, PeerId who) {
    const stages::StageServer* const server = run.server(who);
    const auto replica = server ? server->context().replica : nullptr;
    return replica ? std::vector<float>(replica->error().begin(), replica->error().end())
                   : std::vector<float>{};
}

bool has_any(const std::vector<float>& values) {
    return std::ranges::any_of(values, [](float value) { return value != 0; });
}

/// Tells whether `who` has a slot and its replica.
bool serves(const RunWorld& run, PeerId who) {
    const stages::StageServer* const server = run.server(who);
    return server && server->context().slot && server->context().replica;
}

TEST(SparseRun, ANewCoordinatorFindsTheUnsentSharesOfPeers) {
    const RunWorldOptions options = sparse_three_by_two(5);
    RunWorld run(options);
    World& world = run.world();
    ASSERT_TRUE(world.run_until([&] { return run.steps().size() == 4; }, 300s));
    const std::vector<float> before = unsent_by(run, peer(2));
    ASSERT_TRUE(has_any(before));
    world.crash(RunWorld::coordinator());
    world.run_for(1s);
    world.restart(RunWorld::coordinator());
    ASSERT_TRUE(world.run_until([&] { return run.steps().size() == 5; }, 300s));
    EXPECT_EQ(unsent_by(run, peer(2)), before);
    ASSERT_TRUE(run.run(300s));
    expect_whole(run);
}

/// The part of a peer's unsent share that is left: 1, or less by each exchange that the peer
/// missed.
float left_of(const std::vector<float>& before, const std::vector<float>& after) {
    EXPECT_EQ(after.size(), before.size());
    const auto first = std::ranges::find_if(before, [](float value) { return value != 0; });
    if (first == before.end() || after.size() != before.size()) {
        return 0;
    }
    const float left = after[static_cast<std::size_t>(first - before.begin())] / *first;
    for (std::size_t i = 0; i < before.size(); ++i) {
        EXPECT_NEAR(after[i], left * before[i], 1e-6F * std::abs(before[i]));
    }
    return left;
}

TEST(SparseRun, APeerWithACacheGoesOnFromItsUnsentShare) {
    RunWorldOptions options = sparse_three_by_two(6);
    options.servers_keep_state = true;
    RunWorld run(options);
    World& world = run.world();
    ASSERT_TRUE(world.run_until([&] { return run.steps().size() == 4; }, 300s));
    const std::vector<float> before = unsent_by(run, peer(2));
    world.run_for(20ms);  // time for its disk
    world.crash(peer(2));
    world.run_for(100ms);
    world.restart(peer(2));
    ASSERT_TRUE(world.run_until([&] { return serves(run, peer(2)); }, 300s));
    const float left = left_of(before, unsent_by(run, peer(2)));
    EXPECT_GT(left, 0.8F);
    EXPECT_LE(left, 1.0F);
    ASSERT_TRUE(run.run(300s));
    expect_whole(run);
}

struct Frozen {
    float left = 0;
    std::uint64_t chunks = 0;  // chunks of a state that the peer downloaded
};

/// The figures of a peer that sleeps from the fourth step on, until the run has made so many, and
/// is back.
Frozen frozen_until(std::uint64_t steps) {
    RunWorldOptions options = sparse_three_by_two(7);
    options.config.steps = 100;
    RunWorld run(options);
    World& world = run.world();
    Frozen frozen;
    run.observe_sends([&](PeerId, const node::Send& send) {
        const bool chunk = std::holds_alternative<protocol::Chunk>(send.message.body);
        frozen.chunks += chunk && send.peer == peer(2) ? 1 : 0;
    });
    EXPECT_TRUE(world.run_until([&] { return run.steps().size() == 4; }, 300s));
    const std::vector<float> before = unsent_by(run, peer(2));
    world.freeze(peer(2));
    EXPECT_TRUE(world.run_until([&] { return run.steps().size() == steps; }, 300s));
    const std::uint64_t version = run.coordinator_role()->context().version.step;
    world.thaw(peer(2));
    EXPECT_TRUE(world.run_until(
        [&] {
            const auto& now = run.server(peer(2))->context().version;
            return serves(run, peer(2)) && now && now->step >= version;
        },
        300s
    ));
    frozen.left = left_of(before, unsent_by(run, peer(2)));
    return frozen;
}

TEST(SparseRun, AFrozenPeerThatDownloadsAStateKeepsItsUnsentShare) {
    const Frozen soon = frozen_until(8);
    EXPECT_GT(soon.chunks, 0U);
    EXPECT_GT(soon.left, std::pow(0.95F, 3.0F));
    EXPECT_LT(soon.left, std::pow(0.95F, 0.9F)) << "an exchange was made without it";
    const Frozen late = frozen_until(70);
    EXPECT_GT(late.chunks, 0U);
    EXPECT_GT(late.left, std::pow(0.95F, 25.0F));
    EXPECT_LT(late.left, std::pow(0.95F, 17.0F));
}

TEST(SparseRun, AnUnsentShareOfAnotherStageIsNotUsed) {
    RunWorldOptions options = sparse_three_by_two(8);
    options.config.steps = 40;
    options.servers_keep_state = true;
    RunWorld run(options);
    World& world = run.world();
    ASSERT_TRUE(world.run_until([&] { return run.steps().size() == 4; }, 300s));
    world.run_for(20ms);
    const PeerId mover = peer(2);
    const swarm::StageIndex from = run.server(mover)->context().stage();
    world.crash(mover);
    run.add_server();  // the new server takes the old one's place
    ASSERT_TRUE(world.run_until([&] { return run.steps().size() == 10; }, 300s));
    PeerId other{};
    for (std::uint64_t n = 1; n <= options.peers; ++n) {
        if (peer(n) != mover && run.server(peer(n))->context().stage() != from) {
            other = peer(n);
        }
    }
    world.crash(other);
    ASSERT_TRUE(world.run_until([&] { return run.steps().size() == 16; }, 300s));
    world.restart(mover);
    ASSERT_TRUE(world.run_until([&] { return serves(run, mover); }, 300s));
    EXPECT_NE(run.server(mover)->context().stage(), from);
    EXPECT_FALSE(has_any(unsent_by(run, mover)));
}

TEST(SparseRun, ANewcomerTakesPartFromAnyTurnOn) {
    const RunWorldOptions options = sparse_three_by_two(3);
    RunWorld run(options);
    run.world().run_for(3s);
    const PeerId newcomer = run.add_server();
    ASSERT_TRUE(run.run(300s));
    expect_whole(run);
    std::uint64_t trained = 0;
    for (const auto& [who, count] : run.shares()) {
        trained += who.second == newcomer ? count : 0;
    }
    EXPECT_GT(trained, 0U);
}

}  // namespace
}  // namespace sim
