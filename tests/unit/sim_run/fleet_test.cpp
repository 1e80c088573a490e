#include "sim/run/fleet.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <utility>
#include <vector>

namespace sim {
namespace {

using namespace std::chrono_literals;
using Kind = Happening::Kind;

class FleetTest : public testing::Test {
 protected:
    FleetTest() {
        scenario_.churn.spares_last = false;
        RunWorldOptions options;
        options.config = oracle_config(1, 4, 1000);
        options.peers = 0;
        run_.emplace(std::move(options));
        for (std::uint32_t number = 1; number <= 2; ++number) {
            FleetPeer peer;
            peer.number = number;
            peer.units_per_s = 1;
            peers_.push_back(peer);
        }
        fleet_.emplace(scenario_, peers_, *run_);
        fleet_->start_due({});
        run_->world().run_for(1s);
    }

    void happens(Kind kind, std::uint32_t to = 0, double factor = 1) {
        fleet_->carry_out({run_->world().now(), 1, kind, to, factor});
    }

    Scenario scenario_;
    std::vector<FleetPeer> peers_;
    std::optional<RunWorld> run_;
    std::optional<Fleet> fleet_;
};

TEST_F(FleetTest, NothingBefallsAMachineThatIsDown) {
    happens(Kind::Crash);
    const std::uint64_t faults = run_->world().faults();
    const std::size_t notes = fleet_->notes().size();
    happens(Kind::Freeze);
    happens(Kind::SlowDown, 0, 0.5);
    happens(Kind::Block, 2);
    happens(Kind::CutLink, 2);
    EXPECT_EQ(run_->world().faults(), faults);
    EXPECT_EQ(fleet_->notes().size(), notes);
}

TEST_F(FleetTest, DoesNotBlockOrCutALinkToAMachineThatIsDown) {
    fleet_->carry_out({run_->world().now(), 2, Kind::Crash});
    const std::uint64_t faults = run_->world().faults();
    happens(Kind::Block, 2);
    happens(Kind::CutLink, 2);
    EXPECT_EQ(run_->world().faults(), faults);
}

TEST_F(FleetTest, AFaultEndsWhileItsMachineIsDown) {
    happens(Kind::SlowDown, 0, 0.001);  // 3,000 s for a microbatch
    run_->world().run_for(30s);
    happens(Kind::Crash);
    const double before = run_->world().work_done(peer(1));
    happens(Kind::SpeedBack);
    happens(Kind::Join);
    run_->world().run_for(120s);
    EXPECT_GT(run_->world().work_done(peer(1)), before + 10);
}

}  // namespace
}  // namespace sim
