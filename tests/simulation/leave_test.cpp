// Peers that are asked to leave, and events that may happen before they are gone.
#include "story.hpp"
#include "tests/simulation/runs.hpp"

namespace sim {
namespace {

/// Two stages of two peers, one step done; a peer of stage 0 will leave.
class Leaving : public ::testing::Test {
 protected:
    Leaving() {
        story_.run().observe_reports([this](PeerId from, const node::Report& report) {
            const auto* const done = std::get_if<node::ServerDone>(&report);
            if (done != nullptr && from == leaver_ && !left_at_) {
                left_at_ = world().now();
                farewell_ = done->reason;
            }
        });
        EXPECT_TRUE(story_.reach_step(1));
        for (std::uint64_t n = 1; n <= 4; ++n) {
            (story_.stage_of(peer(n)) == 0 ? leaver_ : other_) = peer(n);
        }
    }

    void ask() {
        asked_at_ = world().now();
        world().ask(leaver_, node::Asked{node::DrainRequest{}});
    }

    [[nodiscard]] swarm::Duration time_to_leave() {
        EXPECT_TRUE(world().run_until([&] { return left_at_.has_value(); }, 300s));
        return *left_at_ - asked_at_;
    }

    void ends_equal_to_one_process() {
        story_.run().run(600s);
        EXPECT_EQ(story_.run().verdict(train_single(options_.config)), "");
    }

    World& world() { return story_.world(); }

    RunWorldOptions options_ = story_options(2, 2);
    Story story_{options_};
    PeerId leaver_;
    PeerId other_;  // the other member of stage 1
    swarm::TimePoint asked_at_{};
    std::optional<swarm::TimePoint> left_at_;
    std::string farewell_;
};

TEST_F(Leaving, APeerGoesAtTheNextCommitAndNothingIsReplayed) {
    const std::size_t steps = story_.run().steps().size();
    ask();
    EXPECT_LT(time_to_leave(), 10s);
    EXPECT_LE(story_.run().steps().size(), steps + 1);
    EXPECT_EQ(farewell_, "left the run");
    ends_equal_to_one_process();
    EXPECT_EQ(story_.run().replayed(), 0U);
}

TEST_F(Leaving, ARestartedCoordinatorIsAskedAgain) {
    ask();
    ASSERT_TRUE(story_.until_received<protocol::Leave>([&](PeerId from, PeerId, const auto&) {
        return from == leaver_;
    }));
    world().crash(kBoss);
    world().run_for(2s);
    world().restart(kBoss);
    EXPECT_LT(time_to_leave(), 30s);
    EXPECT_EQ(farewell_, "left the run");
    ends_equal_to_one_process();
}

TEST_F(Leaving, NoPeerWaitsLongerThanAMinuteForACommit) {
    for (std::uint64_t n = 1; n <= 4; ++n) {
        if (story_.stage_of(peer(n)) == 1) {
            world().freeze(peer(n));
        }
    }
    ask();
    EXPECT_EQ(time_to_leave(), 60s);
    EXPECT_NE(farewell_.find("without a commit"), std::string::npos) << farewell_;
    for (std::uint64_t n = 1; n <= 4; ++n) {
        if (n != leaver_.words[0] && world().is_frozen(peer(n))) {
            world().thaw(peer(n));
        }
    }
    ends_equal_to_one_process();
}

TEST_F(Leaving, APeerThatHoldsNothingGoesAtOnce) {
    world().crash(kBoss);
    leaver_ = story_.run().add_server();
    world().run_for(5s);
    ask();
    EXPECT_LE(time_to_leave(), 1s);
}

}  // namespace
}  // namespace sim
