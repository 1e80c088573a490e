// The stories of the step protocol (section 9), 9 to 17: a coordinator that dies, a stage that no
// peer holds, peers that cannot reach each other, and messages and peers that return from another
// time.
#include "stages/compute/oracle_compute.hpp"
#include "story.hpp"
#include "swarm/coordinator/commit_log.hpp"
#include "tests/simulation/runs.hpp"

#include <algorithm>
#include <set>

namespace sim {
namespace {

using swarm::Epoch;
using swarm::ParameterVersion;
using Phase = swarm::coordinator::StepMachine::Phase;

bool mentions(const RunWorld& run, const std::string& words) {
    return std::any_of(run.log().begin(), run.log().end(), [&](const std::string& line) {
        return line.find(words) != std::string::npos;
    });
}

bool is_durable(const World& world, std::uint64_t step) {
    const auto& records = world.disk(kBoss).records();
    return std::any_of(records.begin(), records.end(), [&](const std::string& line) {
        const auto record = swarm::coordinator::parse_record(line);
        const auto* const commit =
            record ? std::get_if<swarm::coordinator::CommitRecord>(&*record) : nullptr;
        return commit && commit->version.step == step;
    });
}

/// Kills the coordinator after its request to store a record, before it knows the outcome.
std::optional<bool> kill_while_deciding(std::uint64_t seed) {
    constexpr std::uint64_t kStep = 2;
    RunWorldOptions options = story_options(2, 2, 5);
    options.seed = seed;
    Story story(options);
    const auto deciding = [&] {
        return story.boss().version.step == kStep &&
               story.run().coordinator_role()->step().phase() == Phase::Deciding;
    };
    if (!story.world().run_until(deciding, 120s)) {
        return std::nullopt;
    }
    story.world().crash(kBoss);
    const bool durable = is_durable(story.world(), kStep);
    bool launched_again = false;
    story.on_send<protocol::Forward>([&](PeerId from, PeerId, const auto& forward) {
        launched_again = launched_again || (from == kBoss && forward.version.step == kStep);
    });
    Epoch first_commit;
    story.on_send<protocol::Commit>([&](PeerId, PeerId, const auto& commit) {
        const bool first = commit.version.step == kStep && first_commit == Epoch{};
        first_commit = first ? commit.epoch : first_commit;
    });
    story.world().run_for(500ms);
    story.world().restart(kBoss);
    story.expect_equal_to_one_process();
    EXPECT_FALSE(launched_again) << "seed " << seed << (durable ? ", durable" : ", not durable");
    EXPECT_EQ(first_commit < swarm::make_epoch(2, 0), durable) << "seed " << seed;
    EXPECT_EQ(story.run().fenced(), 0U) << "seed " << seed << '\n' << story.log();
    return durable;
}

TEST(Story09, ACoordinatorThatDiesAroundItsRecordHasNothingRecomputed) {
    std::uint32_t after_fsync = 0;
    std::uint32_t before_fsync = 0;
    for (std::uint64_t seed = 1; seed <= 16; ++seed) {
        const auto durable = kill_while_deciding(seed);
        ASSERT_TRUE(durable.has_value());
        ++(*durable ? after_fsync : before_fsync);
    }
    EXPECT_GE(after_fsync, 1U);
    EXPECT_GE(before_fsync, 1U);
}

/// A peer of stage 0 is fenced, its share is replayed, and the coordinator forgets both.
struct Twins {
    PeerId forgotten;
    PeerId replayer;
};

std::optional<Twins> make_twins(Story& story) {
    std::optional<Twins> twins;
    const auto has_sums = [&] {
        for (const PeerId id : story.members(0)) {
            const bool open = story.run().coordinator_role()->step().phase() == Phase::Running &&
                              story.context(id).version == story.boss().version;
            if (open && !story.run().server(id)->wave().held().empty()) {
                twins = Twins{id, story.replica_of(id)};
            }
        }
        return twins.has_value();
    };
    if (!story.world().run_until(has_sums, 10s)) {
        return std::nullopt;
    }
    story.world().freeze(twins->forgotten);
    const auto is_replayed = [&] {
        const auto& one = story.run().server(twins->forgotten)->wave().held();
        const auto& other = story.run().server(twins->replayer)->wave().held();
        return story.run().fenced() > 0 &&
               std::includes(other.begin(), other.end(), one.begin(), one.end());
    };
    if (!story.world().run_until(is_replayed, 30s)) {
        return std::nullopt;
    }
    story.world().crash(kBoss);
    story.world().thaw(twins->forgotten);
    story.world().run_for(200ms);
    story.world().restart(kBoss);
    return twins;
}

TEST(Story10, ADuplicateFoundAfterARestartCostsOneOfTheTwinsItsSlot) {
    Story story(story_options(2, 2));
    ASSERT_TRUE(story.reach_step(2));
    ASSERT_TRUE(make_twins(story).has_value());
    ASSERT_TRUE(story.until_fenced(2)) << story.log();
    EXPECT_TRUE(mentions(story.run(), "holds what another replica holds")) << story.log();
    story.expect_equal_to_one_process();
}

TEST(Story10, AFencedTwinWhoseOtherIsDeadServesTheStageInANewSlot) {
    Story story(story_options(2, 2));
    ASSERT_TRUE(story.reach_step(2));
    const auto twins = make_twins(story);
    ASSERT_TRUE(twins.has_value());
    ASSERT_TRUE(story.until_fenced(2)) << story.log();
    const std::vector<PeerId> left = story.members(0);
    ASSERT_EQ(left.size(), 1U);
    const PeerId fenced = left[0] == twins->forgotten ? twins->replayer : twins->forgotten;
    story.world().crash(left[0]);
    EXPECT_TRUE(story.until_has_slot(fenced)) << story.log();
    story.expect_equal_to_one_process();
}

TEST(Story11, AStageWhoseLastHoldersDieAfterTheDecisionPausesTheRunThenEndsIt) {
    Story story(story_options(2, 2));
    ASSERT_TRUE(story.reach_step(2));
    ASSERT_TRUE(story.until_sent<protocol::Commit>([](PeerId, PeerId, const auto&) { return true; })
    );
    const std::uint64_t decided = story.boss().version.step;
    for (const PeerId id : story.members(1)) {
        story.world().crash(id);
    }
    ASSERT_TRUE(story.world().run_until([&] { return story.run().finished(); }, 300s))
        << story.log();
    ASSERT_TRUE(story.run().failure().has_value());
    EXPECT_EQ(story.run().failure()->exit_code, 1);
    EXPECT_EQ(story.run().failure()->text.find('\n'), std::string::npos);
    EXPECT_NE(story.run().failure()->text.find("had no peer"), std::string::npos);
    EXPECT_TRUE(mentions(story.run(), "a stage has no peer")) << story.log();
    EXPECT_EQ(story.boss().version.step, decided);
    EXPECT_EQ(story.run().violations(), std::vector<std::string>{});
}

/// One replica of a stage is frozen and the other dead when the step is decided.
std::optional<std::pair<PeerId, PeerId>> decide_without_live_holder(Story& story) {
    std::set<PeerId> complete;
    PeerId last;
    const bool reached = story.until_sent<protocol::Reduced>([&](PeerId from, PeerId, const auto&) {
        last = from;
        complete.insert(from);
        return story.stage_of(from) == 1 && complete.contains(story.replica_of(from));
    });
    story.stop_watching();
    if (!reached) {
        return std::nullopt;
    }
    const PeerId sleeper = story.replica_of(last);
    const std::uint64_t step = story.boss().version.step;
    story.world().freeze(sleeper);
    story.world().crash(last);
    const bool decided =
        story.world().run_until([&] { return story.boss().version.step > step; }, 30s);
    return decided ? std::optional(std::pair(sleeper, last)) : std::nullopt;
}

TEST(Story12, TheFrozenHolderThatReturnsCarriesTheRunOn) {
    Story story(story_options(2, 2));
    ASSERT_TRUE(story.reach_step(1));
    const auto holders = decide_without_live_holder(story);
    ASSERT_TRUE(holders.has_value()) << story.log();
    story.world().run_for(30s);
    const std::size_t steps = story.run().steps().size();
    ASSERT_FALSE(story.run().finished());
    story.world().thaw(holders->first);
    ASSERT_TRUE(story.reach_step(steps + 1)) << story.log();
    story.expect_equal_to_one_process();
}

TEST(Story12, AHolderThatDoesNotReturnEndsTheRunWithoutAnotherCommit) {
    Story story(story_options(2, 2));
    ASSERT_TRUE(story.reach_step(1));
    ASSERT_TRUE(decide_without_live_holder(story).has_value()) << story.log();
    const std::uint64_t decided = story.boss().version.step;
    ASSERT_TRUE(story.world().run_until([&] { return story.run().finished(); }, 300s))
        << story.log();
    ASSERT_TRUE(story.run().failure().has_value());
    EXPECT_EQ(story.run().failure()->exit_code, 1);
    EXPECT_EQ(story.boss().version.step, decided);
}

/// Two replicas that cannot reach each other for the rest of the run.
void cut_replicas_apart(std::uint64_t seed) {
    RunWorldOptions options = story_options(2, 2, 6);
    options.seed = seed;
    Story story(options);
    ASSERT_TRUE(story.reach_step(2));
    const std::vector<PeerId> pair = story.members(0);
    ASSERT_EQ(pair.size(), 2U);
    story.block_both_ways(pair[0], pair[1]);
    ASSERT_TRUE(story.until_sent<protocol::Stuck>([&](PeerId from, PeerId, const auto&) {
        return from == pair[0] || from == pair[1];
    }));
    ASSERT_TRUE(story.until_fenced(1)) << story.log();
    EXPECT_TRUE(mentions(story.run(), "others of the reduction wait for it")) << story.log();
    std::vector<PeerId> reducers;
    ASSERT_TRUE(story.until_sent<protocol::Commit>([&](PeerId, PeerId, const auto&) {
        reducers = story.members(0);
        return true;
    })) << story.log();
    EXPECT_EQ(reducers.size(), 1U) << story.log();
    story.expect_equal_to_one_process();
}

TEST(Story13, OneOfTwoReplicasThatCannotReachEachOtherIsFencedAndTheOtherGoesOn) {
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
        cut_replicas_apart(seed);
        ASSERT_FALSE(testing::Test::HasFailure()) << "seed " << seed;
    }
}

TEST(Story14, APeerWithoutItsControlLinkIsFencedTwoSecondsLater) {
    Story story(story_options(2, 2, 60));
    ASSERT_TRUE(story.reach_step(2));
    const PeerId cut = story.members(0).front();
    story.block_both_ways(cut, kBoss);
    story.reset_links(cut, kBoss);
    const swarm::TimePoint from = story.world().now();
    ASSERT_TRUE(story.until_fenced(1));
    EXPECT_GE(story.world().now() - from, 2s);
    EXPECT_LE(story.world().now() - from, 2100ms);
    EXPECT_TRUE(mentions(story.run(), "its link was gone for 2 s")) << story.log();
    ASSERT_TRUE(story.reach_step(story.run().steps().size() + 2)
    );  // the coordinator still reaches peers
    story.unblock_both_ways(cut, kBoss);
    EXPECT_TRUE(story.until_has_slot(cut)) << story.log();
    story.expect_equal_to_one_process();
    EXPECT_EQ(story.run().fenced(), 1U) << story.log();
}

TEST(Story14, APeerThatTheCoordinatorDoesNotHearIsFencedAfterSixSeconds) {
    Story story(story_options(2, 2, 60));
    ASSERT_TRUE(story.reach_step(2));
    const PeerId cut = story.members(1).front();
    swarm::TimePoint heard = story.world().now();
    story.world().block(cut, kBoss);
    ASSERT_TRUE(story.until_fenced(1));
    EXPECT_LE(story.world().now() - heard, 6s);
    EXPECT_TRUE(
        mentions(story.run(), "silent for 6 s") || mentions(story.run(), "a recall in time")
    ) << story.log();
    bool listed = false;
    const std::uint64_t step = story.boss().version.step;
    story.on_send<protocol::Reduce>([&](PeerId, PeerId to, const auto& reduce) {
        listed = listed || (to == cut && reduce.version.step == step);
    });
    ASSERT_TRUE(story.reach_step(story.run().steps().size() + 2));
    EXPECT_FALSE(listed);
    story.world().unblock(cut, kBoss);
    EXPECT_TRUE(story.until_has_slot(cut)) << story.log();
    story.expect_equal_to_one_process();
}

/// A reduce begins while a member has no link; another member is fenced in it; then the link is
/// back, and with it comes the copy of the reduce that is over, with its old group.
TEST(Story14, ACopyOfAReduceThatIsOverDoesNoHarm) {
    Story story(story_options(2, 3, 8));
    ASSERT_TRUE(story.reach_step(2));
    const PeerId cut = story.members(0).front();
    const PeerId restarted = story.replica_of(cut);
    const std::uint64_t step = story.boss().version.step + 1;
    std::set<swarm::MicrobatchId> pathed;
    ASSERT_TRUE(story.until_sent<protocol::Path>([&](PeerId, PeerId, const auto& path) {
        return path.version.step == step && pathed.insert(path.microbatch).second &&
               pathed.size() == 8;
    }));
    story.block_both_ways(cut, kBoss);
    story.reset_links(cut, kBoss);
    protocol::Reduce begun;
    ASSERT_TRUE(story.until_sent<protocol::Reduce>([&](PeerId, PeerId, const auto& reduce) {
        begun = reduce;
        return true;
    }));
    ASSERT_EQ(begun.version.step, step);
    story.world().crash(restarted);
    story.world().restart(restarted);
    ASSERT_TRUE(story.until_fenced(1, 1s)) << story.log();
    bool came_late = false;
    story.on_send<protocol::Reduce>([&](PeerId, PeerId to, const auto& reduce) {
        came_late = came_late || (to == cut && reduce.epoch == begun.epoch);
    });
    story.unblock_both_ways(cut, kBoss);
    story.expect_equal_to_one_process();
    EXPECT_TRUE(came_late) << story.log();
    EXPECT_EQ(story.run().fenced(), 1U) << story.log();
}

TEST(Story15, ADuplicateAfterAReconnectIsAnsweredAndNotComputedAgain) {
    Story story(story_options(2, 2));
    ASSERT_TRUE(story.reach_step(2));
    PeerId hop;
    PeerId taker;
    protocol::LegId leg;
    ASSERT_TRUE(story.until_sent<protocol::Accepted>([&](PeerId from, PeerId to, const auto& said) {
        taker = from;
        hop = to;
        leg = said.leg;
        // The peer with the lower id dials and is the last to see both lanes up: the sender of the
        // leg repeats the leg before it hears that the leg was accepted.
        return to != kBoss && leg.leg == protocol::Leg::Forward && from < to;
    }));
    story.reset_links(hop, taker);
    std::uint32_t paths = 0;
    std::uint32_t repeated = 0;
    story.on_send<protocol::Accepted>([&](PeerId from, PeerId, const auto& said) {
        repeated += from == taker && said.leg == leg ? 1 : 0;
    });
    story.on_send<protocol::Path>([&](PeerId, PeerId, const auto& path) {
        const bool same = path.version == leg.version && path.microbatch == leg.microbatch;
        paths += same ? 1 : 0;
    });
    EXPECT_TRUE(story.until_received<protocol::Forward>([&](PeerId, PeerId to, const auto& again) {
        return to == taker && again.version == leg.version && again.microbatch == leg.microbatch &&
               again.attempt == leg.attempt;
    }));
    EXPECT_GE(repeated, 1U);
    story.expect_equal_to_one_process();
    EXPECT_EQ(paths, 1U);
    EXPECT_EQ(story.run().replayed(), 0U) << story.log();
    EXPECT_EQ(story.run().fenced(), 0U) << story.log();
}

TEST(Story16, AReduceThatOvertakesTheLastBackwardWaitsForIt) {
    Story story(story_options(2, 2));
    ASSERT_TRUE(story.reach_step(2));
    PeerId tail;
    PeerId waiting;
    protocol::Backward last;
    ASSERT_TRUE(story.until_sent<protocol::Backward>([&](PeerId from, PeerId to, const auto& sent) {
        tail = from;
        waiting = to;
        last = sent;
        return true;
    }));
    story.world().block(tail, waiting);
    protocol::Reduce reduce;
    ASSERT_TRUE(story.until_received<protocol::Reduce>([&](PeerId, PeerId to, const auto& told) {
        reduce = told;
        return to == waiting && told.version == last.version;
    }));
    std::uint32_t parts = 0;
    story.on_send<protocol::Part>([&](PeerId from, PeerId, const auto&) {
        parts += from == waiting ? 1 : 0;
    });
    story.world().run_for(1s);
    const auto& held = story.run().server(waiting)->wave().held();
    ASSERT_FALSE(held.contains(last.microbatch));
    EXPECT_LT(held.size(), reduce.ids.size());
    EXPECT_EQ(parts, 0U);
    story.world().unblock(tail, waiting);
    Epoch committed;
    ASSERT_TRUE(story.until_sent<protocol::Commit>([&](PeerId, PeerId, const auto& commit) {
        committed = commit.epoch;
        return commit.version == last.version;
    }));
    EXPECT_EQ(committed, reduce.epoch);
    EXPECT_GT(parts, 0U);
    story.expect_equal_to_one_process();
    EXPECT_EQ(story.run().replayed(), 0U) << story.log();
}

TEST(Story17, APeerOfTheTimelineBeforeARollbackIsRefused) {
    const RunWorldOptions options = story_options(2, 2, 60);
    Story story(options);
    ASSERT_TRUE(story.reach_step(4));
    const std::vector<PeerId> lost = story.members(1);
    const PeerId old = story.members(0).front();
    ASSERT_TRUE(story.until_sent<protocol::Forward>([&](PeerId from, PeerId, const auto&) {
        return from == old;
    }));
    story.world().freeze(old);
    for (const PeerId id : lost) {
        story.world().crash(id);
    }
    const ParameterVersion before = *story.context(old).version;
    story.run().resume_from(state_after(options.config, 2));
    story.world().restart(kBoss);
    story.world().run_for(1s);
    for (const PeerId id : lost) {
        story.world().restart(id);
    }
    const auto same_step = [&] {
        return story.boss().version == ParameterVersion{before.gen + 1, before.step};
    };
    ASSERT_TRUE(story.world().run_until(same_step, 60s)) << story.log();
    ASSERT_EQ(story.context(old).version, before);
    bool took_part = false;
    story.on_send<protocol::Accepted>([&](PeerId, PeerId, const auto& said) {
        took_part = took_part || said.leg.version.gen == before.gen;
    });
    story.on_send<protocol::Reduce>([&](PeerId, PeerId to, const auto&) {
        took_part = took_part || (to == old && story.context(old).version == before);
    });
    story.world().thaw(old);
    EXPECT_TRUE(story.until_has_slot(old)) << story.log();
    EXPECT_EQ(story.context(old).version->gen, before.gen + 1);
    story.expect_equal_to_one_process();
    EXPECT_FALSE(took_part);
}

}  // namespace
}  // namespace sim
