// The stories of the step protocol (section 9), 1 to 8: messages and peers that are lost, late or
// dead within a step. Each test waits for its decisive moment, injects exactly that fault and lets
// the run end.
#include "story.hpp"
#include "tests/simulation/runs.hpp"

#include <algorithm>
#include <map>
#include <set>

namespace sim {
namespace {

using swarm::Attempt;
using swarm::Epoch;
using swarm::MicrobatchId;
using swarm::ParameterVersion;
using swarm::SlotId;

bool contains(const std::vector<MicrobatchId>& ids, MicrobatchId id) {
    return std::find(ids.begin(), ids.end(), id) != ids.end();
}

TEST(Story01, AReportLostWithItsLinkIsSentAgain) {
    Story story(story_options(2, 2));
    ASSERT_TRUE(story.reach_step(2));
    PeerId tail;
    protocol::Path lost;
    ASSERT_TRUE(story.until_sent<protocol::Path>([&](PeerId from, PeerId, const auto& path) {
        tail = from;
        lost = path;
        return true;
    }));
    story.world().reset_link(tail, kBoss, Lane::Control);
    EXPECT_TRUE(story.until_received<protocol::Path>([&](PeerId, PeerId, const auto& path) {
        return path == lost;
    }));
    story.expect_equal_to_one_process();
    EXPECT_EQ(story.run().replayed(), 0U);
    EXPECT_EQ(story.run().fenced(), 0U);
}

TEST(Story01, AReportLostWithItsTailIsReplayedInThatStageOnly) {
    Story story(story_options(2, 2));
    ASSERT_TRUE(story.reach_step(2));
    PeerId tail;
    PeerId below;
    protocol::Path lost;
    ASSERT_TRUE(story.until_sent<protocol::Path>([&](PeerId from, PeerId, const auto& path) {
        tail = from;
        lost = path;
        below = story.peer_of(path.path[0]);
        return true;
    }));
    story.world().block(tail, kBoss);
    bool reported = false;
    story.on_receive<protocol::Path>([&](PeerId, PeerId, const auto& path) {
        reported = reported || path == lost;
    });
    const auto accumulated = [&] {
        return story.run().server(below)->wave().held().contains(lost.microbatch);
    };
    ASSERT_TRUE(story.world().run_until(accumulated, 10s));
    ASSERT_FALSE(reported);
    story.reset_links(tail, kBoss);
    story.world().crash(tail);
    story.world().unblock(tail, kBoss);
    EXPECT_TRUE(story.until_sent<protocol::Held>([&](PeerId from, PeerId, const auto& held) {
        return from == below && contains(held.ids, lost.microbatch);
    }));
    EXPECT_TRUE(story.until_sent<protocol::Forward>([&](PeerId from, PeerId, const auto& forward) {
        return from == kBoss && forward.microbatch == lost.microbatch &&
               forward.version == lost.version && !forward.mask.has({0}) && forward.mask.has({1});
    }));
    EXPECT_FALSE(reported);
    story.expect_equal_to_one_process();
}

TEST(Story02, ALateWaveIsRefusedByThePeerThatSaidHaveNot) {
    Story story(story_options(2, 2));
    ASSERT_TRUE(story.reach_step(2));
    PeerId hop;
    PeerId tail;
    protocol::LegId late;
    ASSERT_TRUE(story.until_sent<protocol::Forward>([&](PeerId from, PeerId to, const auto& sent) {
        hop = from;
        tail = to;
        late = {sent.version, sent.microbatch, sent.attempt, protocol::Leg::Forward};
        return from != kBoss;
    }));
    story.world().block(hop, tail);
    bool promised = false;
    ASSERT_TRUE(story.until_sent<protocol::Held>([&](PeerId from, PeerId, const auto& held) {
        promised = from == tail && held.version == late.version && held.epoch > late.attempt;
        return promised && !contains(held.ids, late.microbatch);
    }));
    story.world().unblock(hop, tail);
    EXPECT_TRUE(story.until_sent<protocol::Refused>([&](PeerId from, PeerId, const auto& refused) {
        return from == tail && refused.leg == late &&
               refused.reason == protocol::RefusedReason::Stale;
    }));
    story.expect_equal_to_one_process();
    EXPECT_EQ(story.run().fenced(), 0U) << story.log();
}

TEST(Story03, ATimedOutOfferIsNeverMadeToAnotherReplica) {
    Story story(story_options(3, 2));
    ASSERT_TRUE(story.reach_step(2));
    PeerId hop;
    PeerId middle;
    protocol::Forward first;
    ASSERT_TRUE(story.until_sent<protocol::Forward>([&](PeerId from, PeerId to, const auto& sent) {
        hop = from;
        middle = to;
        first = sent;
        return from != kBoss && story.stage_of(from) == 0;
    }));
    std::map<Attempt, std::set<PeerId>> receivers{{first.attempt, {middle}}};
    story.on_send<protocol::Forward>([&](PeerId from, PeerId to, const auto& sent) {
        if (from != kBoss && story.stage_of(to) == 1 && sent.version == first.version &&
            sent.microbatch == first.microbatch) {
            receivers[sent.attempt].insert(to);
        }
    });
    story.world().block(middle, hop);  // no answer of the middle peer arrives
    ASSERT_TRUE(story.until_sent<protocol::Forward>([&](PeerId from, PeerId, const auto& sent) {
        return from == kBoss && sent.version == first.version &&
               sent.microbatch == first.microbatch && sent.attempt > first.attempt;
    }));
    story.world().unblock(middle, hop);
    story.expect_equal_to_one_process();
    EXPECT_GE(receivers.size(), 2U);
    for (const auto& [attempt, peers] : receivers) {
        EXPECT_EQ(peers.size(), 1U) << "attempt " << attempt.value;
    }
}

/// Follows the launches of one microbatch and the promises that must lie between two of them.
struct Promises {
    ParameterVersion version;
    MicrobatchId microbatch;
    std::vector<Attempt> launches;
    std::set<Epoch> recalls{};
    std::map<PeerId, std::set<Epoch>> answered{};
    std::vector<std::string> missing{};

    void watch(Story& story) {
        story.on_send<protocol::Recall>([this](PeerId, PeerId, const protocol::Recall& recall) {
            if (recall.version == version && contains(recall.ids, microbatch)) {
                recalls.insert(recall.epoch);
            }
        });
        story.on_receive<protocol::Held>([this](PeerId from, PeerId, const protocol::Held& held) {
            if (held.version == version && recalls.contains(held.epoch)) {
                answered[from].insert(held.epoch);
            }
        });
        story.on_send<protocol::Forward>(
            [this, &story](PeerId from, PeerId, const protocol::Forward& sent) {
                if (from == kBoss && sent.version == version && sent.microbatch == microbatch &&
                    sent.attempt > launches.back()) {
                    check(story, sent.attempt);
                }
            }
        );
    }

    void check(const Story& story, Attempt next) {
        for (const SlotId slot : story.boss().roster.all_members()) {
            const std::set<Epoch>& epochs = answered[story.peer_of(slot)];
            const auto promise = epochs.upper_bound(launches.back());
            if (promise == epochs.end() || *promise > next) {
                missing.push_back("peer " + std::to_string(story.peer_of(slot).words[0]));
            }
        }
        launches.push_back(next);
    }
};

TEST(Story04, BetweenTwoReplaysLiesAPromiseOfEveryMember) {
    Story story(story_options(2, 3));
    ASSERT_TRUE(story.reach_step(2));
    PeerId holder;
    protocol::Forward first;
    const auto launched_again = [&](PeerId from, PeerId to, const protocol::Forward& sent) {
        const bool again = from == kBoss && sent.version == first.version &&
                           sent.microbatch == first.microbatch && sent.attempt > first.attempt;
        holder = again ? to : holder;
        return again;
    };
    ASSERT_TRUE(story.until_sent<protocol::Forward>([&](PeerId from, PeerId to, const auto& sent) {
        holder = to;
        first = sent;
        return from == kBoss;
    }));
    Promises promises{first.version, first.microbatch, {first.attempt}};
    promises.watch(story);
    const PeerId one = holder;
    story.world().freeze(one);
    ASSERT_TRUE(story.until_sent<protocol::Forward>(launched_again));
    const PeerId two = holder;
    first.attempt = promises.launches.back();
    story.world().freeze(two);
    ASSERT_TRUE(story.until_sent<protocol::Forward>(launched_again));
    story.world().thaw(one);
    story.world().thaw(two);
    story.expect_equal_to_one_process();
    EXPECT_GE(promises.launches.size(), 3U);
    EXPECT_EQ(promises.missing, std::vector<std::string>{}) << story.log();
}

/// A part has reached its receiver, and its sender has no result to pass on yet.
struct UsedPart {
    PeerId from;
    PeerId to;
    protocol::Part part;
    std::uint32_t share = 0;
};

std::optional<UsedPart> until_part_used(Story& story) {
    std::set<std::pair<PeerId, Epoch>> passed_on;
    UsedPart used;
    story.on_send<protocol::Part>([&](PeerId from, PeerId, const protocol::Part& part) {
        if (part.gathered) {
            passed_on.insert({from, part.epoch});
        }
    });
    const bool found =
        story.until_received<protocol::Part>([&](PeerId from, PeerId to, const auto& part) {
            used = {from, to, part, story.share_of(from)};
            return !part.gathered && used.share > 0 && !passed_on.contains({from, part.epoch});
        });
    story.stop_watching();
    return found ? std::optional(used) : std::nullopt;
}

TEST(Story05, APeerFencedAfterOthersUsedItsPart) {
    Story story(story_options(2, 2));
    ASSERT_TRUE(story.reach_step(2));
    const auto used = until_part_used(story);
    ASSERT_TRUE(used.has_value());
    story.world().crash(used->from);
    Epoch committed;
    ASSERT_TRUE(story.until_sent<protocol::Commit>([&](PeerId, PeerId, const auto& commit) {
        committed = commit.epoch;
        return commit.version == used->part.version;
    }));
    EXPECT_GT(committed, used->part.epoch);
    story.expect_equal_to_one_process();
    EXPECT_EQ(story.run().steps()[used->part.version.step].replayed, used->share);
    EXPECT_EQ(story.run().fenced(), 1U);
}

TEST(Story05, AnEpochThatTheDeadPeerCompletedForOthersIsCommitted) {
    Story story(story_options(2, 2));
    ASSERT_TRUE(story.reach_step(2));
    PeerId dead;
    protocol::Part last;
    ASSERT_TRUE(story.until_sent<protocol::Part>([&](PeerId from, PeerId, const auto& part) {
        dead = from;
        last = part;
        return part.gathered;
    }));
    story.world().crash(dead);
    Epoch committed;
    ASSERT_TRUE(story.until_sent<protocol::Commit>([&](PeerId, PeerId, const auto& commit) {
        committed = commit.epoch;
        return commit.version == last.version;
    }));
    EXPECT_EQ(committed, last.epoch);
    story.expect_equal_to_one_process();
    EXPECT_EQ(story.run().steps()[last.version.step].replayed, 0U);
    EXPECT_EQ(story.run().fenced(), 1U);
}

TEST(Story06, ADeathHalfWayThroughTheButterflyReplaysTheDeadOnesShare) {
    Story story(story_options(2, 3));
    ASSERT_TRUE(story.reach_step(2));
    PeerId dead;
    protocol::Part last;
    ASSERT_TRUE(story.until_sent<protocol::Part>([&](PeerId from, PeerId, const auto& part) {
        dead = from;
        last = part;
        return part.gathered && story.share_of(from) > 0;
    }));
    const PeerId lacking = story.replica_of(dead);
    const std::uint32_t share = story.share_of(dead);
    story.world().block(dead, lacking);
    ASSERT_TRUE(story.until_received<protocol::Part>([&](PeerId from, PeerId to, const auto& part) {
        return from == dead && to != lacking && part == last;
    }));
    story.reset_links(dead, lacking);
    story.world().crash(dead);
    story.world().unblock(dead, lacking);
    std::set<PeerId> complete;
    story.on_send<protocol::Reduced>([&](PeerId from, PeerId, const auto& reduced) {
        if (reduced.version == last.version && reduced.epoch == last.epoch) {
            complete.insert(from);
        }
    });
    Epoch committed;
    ASSERT_TRUE(story.until_sent<protocol::Commit>([&](PeerId, PeerId, const auto& commit) {
        committed = commit.epoch;
        return commit.version == last.version;
    }));
    EXPECT_FALSE(complete.contains(lacking));
    EXPECT_GE(complete.size(), 1U);
    EXPECT_GT(committed, last.epoch);
    story.expect_equal_to_one_process();
    EXPECT_EQ(story.run().steps()[last.version.step].replayed, share);
}

TEST(Story07, APeerFrozenOverTheCommitAppliesItWhenItWakes) {
    Story story(story_options(2, 2));
    ASSERT_TRUE(story.reach_step(2));
    PeerId sleeper;
    ParameterVersion version;
    ASSERT_TRUE(story.until_sent<protocol::Reduced>([&](PeerId from, PeerId, const auto& reduced) {
        sleeper = from;
        version = reduced.version;
        return true;
    }));
    const auto slot = story.context(sleeper).slot;
    story.world().freeze(sleeper);
    ASSERT_TRUE(story.until_sent<protocol::Commit>([&](PeerId, PeerId, const auto& commit) {
        return commit.version == version;
    }));
    story.world().run_for(1s);
    ASSERT_EQ(story.context(sleeper).version, version);
    bool fetched = false;
    story.on_send<protocol::Fetch>([&](PeerId from, PeerId, const auto&) {
        fetched = fetched || from == sleeper;
    });
    story.world().thaw(sleeper);
    EXPECT_TRUE(story.until_sent<protocol::Applied>([&](PeerId from, PeerId, const auto& applied) {
        return from == sleeper && applied.version.step == version.step + 1;
    }));
    EXPECT_EQ(story.context(sleeper).slot, slot);
    EXPECT_FALSE(fetched);
    story.expect_equal_to_one_process();
    EXPECT_EQ(story.run().fenced(), 0U) << story.log();
    EXPECT_EQ(story.run().replayed(), 0U) << story.log();
}

TEST(Story07, AFrozenPeerWithTheResultOfADeadEpochCatchesUp) {
    Story story(story_options(2, 2, 60));
    ASSERT_TRUE(story.reach_step(2));
    PeerId sleeper;
    protocol::Reduced dead;
    ASSERT_TRUE(story.until_sent<protocol::Reduced>([&](PeerId from, PeerId, const auto& reduced) {
        sleeper = from;
        dead = reduced;
        return true;
    }));
    story.world().freeze(sleeper);
    const PeerId victim = story.members(1 - story.stage_of(sleeper)).front();
    story.world().crash(victim);
    Epoch committed;
    ASSERT_TRUE(story.until_sent<protocol::Commit>([&](PeerId, PeerId, const auto& commit) {
        committed = commit.epoch;
        return commit.version == dead.version;
    }));
    ASSERT_GT(committed, dead.epoch);
    story.world().restart(victim);
    story.world().run_for(5s);
    ASSERT_EQ(story.context(sleeper).version, dead.version);
    story.world().thaw(sleeper);
    EXPECT_TRUE(story.until_has_slot(sleeper)) << story.log();
    story.expect_equal_to_one_process();
}

TEST(Story08, ACommitLostToOneIsRepeatedAndAppliedFromItsOwnResult) {
    Story story(story_options(2, 2));
    ASSERT_TRUE(story.reach_step(2));
    PeerId deprived;
    ParameterVersion version;
    ASSERT_TRUE(story.until_sent<protocol::Commit>([&](PeerId, PeerId to, const auto& commit) {
        deprived = to;
        version = commit.version;
        return story.stage_of(to) == 1;
    }));
    story.world().block(kBoss, deprived);
    bool fetched = false;
    story.on_send<protocol::Fetch>([&](PeerId from, PeerId, const auto&) {
        fetched = fetched || from == deprived;
    });
    ASSERT_TRUE(story.until_received<protocol::Forward>([&](PeerId, PeerId to, const auto& sent) {
        return to == deprived && sent.version > version;
    }));
    ASSERT_EQ(story.context(deprived).version, version);
    story.world().reset_link(kBoss, deprived, Lane::Control);
    story.world().unblock(kBoss, deprived);
    EXPECT_TRUE(story.until_sent<protocol::Applied>([&](PeerId from, PeerId, const auto& applied) {
        return from == deprived && applied.version.step == version.step + 1;
    }));
    EXPECT_FALSE(fetched);
    story.expect_equal_to_one_process();
    EXPECT_EQ(story.run().fenced(), 0U) << story.log();
    EXPECT_EQ(story.run().replayed(), 0U) << story.log();
}

}  // namespace
}  // namespace sim
