// Peers behind routers: others cannot dial them. One reachable end of each pair is enough, and two
// that cannot reach each other are kept apart where others are there.
#include "story.hpp"
#include "swarm/base/peer_name.hpp"

#include <algorithm>

namespace sim {
namespace {

using swarm::TimePoint;

constexpr swarm::Duration kDecidedWithin = 10s;

/// A run of two stages with the peers 1..n, of which some are behind routers from the start.
class ApartTest : public testing::Test {
 protected:
    void begin(std::uint32_t peers, const std::vector<std::uint64_t>& behind_routers) {
        RunWorldOptions options = story_options(2, 1);
        options.peers = peers;
        config_ = options.config;
        run_ = std::make_unique<RunWorld>(options);
        for (const std::uint64_t number : behind_routers) {
            run_->world().hide_behind_router(peer(number));
        }
        run_->observe_reports([this](PeerId at, const node::Report& report) {
            if (const auto* line = std::get_if<node::LogLine>(&report)) {
                lines_.push_back({at, line->text});
            }
            if (const auto* status = std::get_if<node::ServerStatus>(&report)) {
                lines_.push_back({at, status->text});
            }
        });
    }

    [[nodiscard]] bool has_said(PeerId at, const std::string& text) const {
        return std::ranges::any_of(lines_, [&](const auto& line) {
            return line.first == at && line.second.find(text) != std::string::npos;
        });
    }

    bool commits_within(swarm::Duration limit) {
        const std::size_t before = run_->steps().size();
        return run_->world().run_until([&] { return run_->steps().size() > before; }, limit);
    }

    void expect_equal_to_one_process() {
        ASSERT_TRUE(run_->run(600s));
        EXPECT_EQ(run_->verdict(train_single(config_)), "");
        EXPECT_TRUE(run_->violations().empty());
        lines_.clear();
    }

    swarm::run::RunConfig config_;
    std::unique_ptr<RunWorld> run_;
    std::vector<std::pair<PeerId, std::string>> lines_;
};

TEST_F(ApartTest, OneEndThatCanBeReachedIsEnoughWhicheverIdIsSmaller) {
    for (const std::uint64_t hidden : {1U, 2U}) {
        begin(2, {hidden});
        EXPECT_TRUE(commits_within(kDecidedWithin)) << hidden;
        expect_equal_to_one_process();
        EXPECT_EQ(run_->fenced(), 0U);
    }
}

TEST_F(ApartTest, BothSidesAndTheCoordinatorNameTwoThatCannotReachEachOther) {
    begin(2, {1, 2});
    run_->world().run_for(kDecidedWithin);
    const std::string one = swarm::to_short_text(peer(1));
    const std::string two = swarm::to_short_text(peer(2));
    EXPECT_TRUE(has_said(peer(1), "peer " + two + ", stage "));
    EXPECT_TRUE(has_said(peer(2), "peer " + one + ", stage "));
    EXPECT_TRUE(has_said(RunWorld::coordinator(), "cannot reach each other, and there is nobody"));
    EXPECT_TRUE(run_->steps().empty());
}

TEST_F(ApartTest, AThirdPeerTakesThePlaceOfOneOfTwoThatCannotReachEachOther) {
    begin(2, {1, 2});
    run_->world().run_for(kDecidedWithin);
    ASSERT_TRUE(run_->steps().empty());
    run_->add_server();
    EXPECT_TRUE(commits_within(kDecidedWithin));
    const bool one_waits = has_said(peer(1), "waits without a stage");
    const bool two_waits = has_said(peer(2), "waits without a stage");
    EXPECT_NE(one_waits, two_waits);
    expect_equal_to_one_process();
}

TEST_F(ApartTest, TwoBehindRoutersAreNotWiredTogetherWhereOthersAreThere) {
    for (const auto& hidden :
         std::vector<std::vector<std::uint64_t>>{{1, 2}, {1, 4}, {2, 3}, {3, 4}}) {
        begin(4, hidden);
        const auto is_decided = [&] {
            const bool one_waits = std::ranges::any_of(lines_, [](const auto& line) {
                return line.second.starts_with("waits without a stage");
            });
            return one_waits || !run_->steps().empty();
        };
        EXPECT_TRUE(run_->world().run_until(is_decided, kDecidedWithin))
            << testing::PrintToString(hidden);
        EXPECT_TRUE(commits_within(kDecidedWithin)) << testing::PrintToString(hidden);
        expect_equal_to_one_process();
    }
}

}  // namespace
}  // namespace sim
