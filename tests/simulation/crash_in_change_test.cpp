// Crashes at every event of a run in which a peer joins and another moves to a stage that needs it,
// and at pairs of events. The last peer of a stage is spared: its loss is beyond the promise.
#include "sim/run/run_world.hpp"
#include "tests/simulation/runs.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <optional>
#include <set>
#include <vector>

namespace sim {
namespace {

using namespace std::chrono_literals;

/// Three peers at stage 0 and two slow ones at stage 1, until one moves; a sixth joins.
class ChangingRun {
 public:
    explicit ChangingRun(const RunWorldOptions& options) : run_(options) {
        run_.observe_reports([this](PeerId, const node::Report& report) {
            const auto* const changed = std::get_if<node::PeerChanged>(&report);
            if (changed != nullptr && changed->change == node::PeerChange::Moved) {
                mover_ = changed->peer;
            }
        });
        world().run_until([&] { return run_.steps().size() == 1 || run_.finished(); }, 60s);
        for (std::uint64_t n = 1; n <= options.peers; ++n) {
            if (run_.server(peer(n))->context().stage().value == 1) {
                world().set_speed(peer(n), 6);
            }
        }
        joiner_ = run_.add_server();
    }

    RunWorld& run() { return run_; }

    World& world() { return run_.world(); }

    [[nodiscard]] const std::optional<PeerId>& mover() const { return mover_; }

    [[nodiscard]] PeerId joiner() const { return joiner_; }

    void crash_before(std::uint64_t event, PeerId victim) {
        world().run_until([&] { return world().events() >= event || run_.finished(); }, 600s);
        if (!is_last_of_its_stage(victim)) {
            world().crash(victim);
        }
    }

 private:
    /// A victim may be the last of its stage after another peer has moved away.
    bool is_last_of_its_stage(PeerId victim) {
        const auto* const boss = run_.coordinator_role();
        const auto* const own =
            boss == nullptr ? nullptr : boss->context().roster.find_peer(victim);
        if (own == nullptr || own->standing == swarm::protocol::Standing::Observer) {
            return false;
        }
        const auto& roster = boss->context().roster;
        const std::vector<swarm::SlotId> members = roster.members(own->stage);
        return std::none_of(members.begin(), members.end(), [&](swarm::SlotId slot) {
            const PeerId other = roster.find(slot)->peer;
            return other != victim && world().is_running(other) &&
                   world().incarnation(other) == roster.find(slot)->incarnation;
        });
    }

    RunWorld run_;
    std::optional<PeerId> mover_;
    PeerId joiner_;
};

RunWorldOptions changing() {
    RunWorldOptions options;
    options.config = oracle_config(2, 3, 8);
    options.config.rebalancer = router::RebalancerName::find("swarm-alg2").value();
    options.config.rebalance_every_s = 10;
    options.peers = 5;
    options.peer.device.units_per_s = 20;
    return options;
}

/// The course of the undisturbed run: which peers may be crashed, and between which events a crash
/// is worth while.
struct Course {
    std::uint64_t first_event = 0;  // the sixth peer joins
    std::uint64_t last_event = 0;   // mover and joiner have arrived
    std::vector<PeerId> victims;    // mover, joiner, one more of stage 0, the coordinator
};

Course course_of(const RunWorldOptions& options) {
    ChangingRun undisturbed(options);
    Course course;
    course.first_event = undisturbed.world().events();
    const auto& boss = *undisturbed.run().coordinator_role();
    const auto is_member = [&](PeerId id) {
        const auto* const slot = boss.context().roster.find_peer(id);
        return slot != nullptr && slot->standing == swarm::protocol::Standing::Member;
    };
    const auto both_arrived = [&] {
        return undisturbed.mover() && is_member(*undisturbed.mover()) &&
               is_member(undisturbed.joiner());
    };
    EXPECT_TRUE(undisturbed.world().run_until(both_arrived, 300s));
    EXPECT_FALSE(undisturbed.run().finished()) << "the run was over before";
    course.last_event = undisturbed.world().events();
    course.victims = {*undisturbed.mover(), undisturbed.joiner()};
    for (std::uint64_t n = 1; n <= options.peers && course.victims.size() < 3; ++n) {
        const bool stays = peer(n) != *undisturbed.mover();
        if (stays && undisturbed.run().server(peer(n))->context().stage().value == 0) {
            course.victims.push_back(peer(n));
        }
    }
    course.victims.push_back(RunWorld::coordinator());
    undisturbed.run().run(600s);
    EXPECT_EQ(undisturbed.run().moves(), 1U);
    return course;
}

std::string crash_twice_in_change(
    const RunWorldOptions& options,
    const Reference& reference,
    std::uint64_t at,
    PeerId first,
    std::uint64_t then,
    PeerId second
) {
    ChangingRun changed(options);
    changed.crash_before(at, first);
    changed.crash_before(then, second);
    changed.world().run_for(500ms);
    for (const PeerId victim : std::set<PeerId>{first, second}) {
        if (!changed.world().is_running(victim)) {
            changed.world().restart(victim);
        }
    }
    changed.run().run(1200s);
    return changed.run().verdict(reference);
}

TEST(CrashWhilePeersChange, AtEveryEventLeavesTheRunEqualToOneProcess) {
    const RunWorldOptions options = changing();
    const Reference reference = train_single(options.config);
    const Course course = course_of(options);
    std::uint64_t crashes = 0;
    for (const PeerId victim : course.victims) {
        for (std::uint64_t at = course.first_event; at <= course.last_event; ++at) {
            ++crashes;
            ASSERT_EQ(crash_twice_in_change(options, reference, at, victim, at, victim), "")
                << "peer " << victim.words[0] << " before event " << at;
        }
    }
    std::printf("%llu crashes\n", static_cast<unsigned long long>(crashes));
}

/// About 31 moments each in crash_pairs_long, otherwise 14.
TEST(CrashWhilePeersChange, AtPairsOfEventsLeavesTheRunEqualToOneProcess) {
    const RunWorldOptions options = changing();
    const Reference reference = train_single(options.config);
    const Course course = course_of(options);
    const std::uint64_t moments = all_crash_pairs() ? 31 : 14;
    const std::uint64_t stride =
        std::max<std::uint64_t>(1, (course.last_event - course.first_event) / moments);
    std::uint64_t pairs = 0;
    for (const PeerId first : course.victims) {
        for (const PeerId second : course.victims) {
            for (std::uint64_t at = course.first_event; at < course.last_event; at += stride) {
                for (std::uint64_t then = at; then < course.last_event; then += stride) {
                    ++pairs;
                    ASSERT_EQ(
                        crash_twice_in_change(options, reference, at, first, then, second), ""
                    ) << "peer "
                      << first.words[0] << " before event " << at << ", peer " << second.words[0]
                      << " before event " << then;
                }
            }
        }
    }
    std::printf("%llu pairs of crashes\n", static_cast<unsigned long long>(pairs));
}

}  // namespace
}  // namespace sim
