// The places where a fault can be injected, and the times at which it is.
#include "sim/fault_points.hpp"

#include "tests/unit/sim/recorder.hpp"

#include <gtest/gtest.h>

namespace sim::test {
namespace {

using namespace std::chrono_literals;
using Texts = std::vector<std::string>;

std::vector<int> firings(const FaultRule& rule, int visits) {
    FaultPoints points;
    points.set(FaultPoint::TurnBegins, rule);
    swarm::Rng rng(1, 1);
    std::vector<int> fired;
    for (int visit = 1; visit <= visits; ++visit) {
        if (points.fires(FaultPoint::TurnBegins, 0, rng)) {
            fired.push_back(visit);
        }
    }
    return fired;
}

TEST(FaultPoints, AProbabilityIsSoManyCases) {
    EXPECT_EQ(cases_of(0), 0U);
    EXPECT_EQ(cases_of(1), kFaultCases);
    EXPECT_EQ(cases_of(0.25), kFaultCases / 4);
    EXPECT_NEAR(
        static_cast<double>(cases_of(1e-7)) / static_cast<double>(kFaultCases), 1e-7, 1e-12
    );
    EXPECT_EQ(cases_of(1e-300), 1U);
}

TEST(FaultPoints, NeverFire) {
    EXPECT_TRUE(firings(FaultRule::never(), 1000).empty());
}

TEST(FaultPoints, FireOnTheNthVisitOnly) {
    EXPECT_EQ(firings(FaultRule::on_visit(3), 1000), std::vector<int>{3});
}

TEST(FaultPoints, FireByProbability) {
    const std::size_t fired = firings(FaultRule::by_probability(1, 10), 10'000).size();
    EXPECT_GT(fired, 900U);
    EXPECT_LT(fired, 1100U);
}

TEST(FaultPoints, CountVisitsSinceTheRuleWasSetAndFiringsForGood) {
    FaultPoints points;
    swarm::Rng rng(1, 1);
    points.set(FaultPoint::DialArrives, FaultRule::on_visit(1));
    points.fires(FaultPoint::DialArrives, 0, rng);
    points.fires(FaultPoint::DialArrives, 0, rng);
    EXPECT_EQ(points.visits(FaultPoint::DialArrives), 2U);
    points.set(FaultPoint::DialArrives, FaultRule::on_visit(1));
    EXPECT_EQ(points.visits(FaultPoint::DialArrives), 0U);
    points.fires(FaultPoint::DialArrives, 0, rng);
    EXPECT_EQ(points.fired(FaultPoint::DialArrives), 2U);
}

TEST(FaultPoints, ARuleForOnePeerIgnoresTheOthers) {
    FaultPoints points;
    swarm::Rng rng(1, 1);
    FaultRule rule = FaultRule::on_visit(1);
    rule.only = 7;
    points.set(FaultPoint::JobStarts, rule);
    EXPECT_FALSE(points.fires(FaultPoint::JobStarts, 6, rng));
    EXPECT_TRUE(points.fires(FaultPoint::JobStarts, 7, rng));
}

node::Append durable(std::uint64_t id, std::string record) {
    return {{id}, std::move(record), true};
}

class FaultPointsOfAWorld : public testing::Test {
 protected:
    World world_{World::Options{}};
};

TEST_F(FaultPointsOfAWorld, ACrashAfterTheSyncKeepsTheRecordAndTellsNoPeer) {
    const auto anna = add_recorder(world_, kAnna, {{"Woke", durable(1, "a")}});
    world_.set_fault(FaultPoint::RecordIsSynced, FaultRule::on_visit(1));
    world_.run_for(1s);
    EXPECT_FALSE(world_.is_running(kAnna));
    EXPECT_EQ(world_.disk(kAnna).records(), Texts{"a"});
    EXPECT_EQ(anna->count("Stored 1"), 0U);
    EXPECT_EQ(world_.faults(), 1U);
}

TEST_F(FaultPointsOfAWorld, ACrashInTheTurnThatWroteLosesTheRestOfTheTurn) {
    const auto bert = add_recorder(world_, kBert, {});
    Recorder::Orders orders{{"Woke", node::Dial{kBert, Lane::Control, ""}}};
    orders.emplace("LinkUp 2", durable(1, "a"));
    orders.emplace("LinkUp 2", message(kBert, 1));
    add_recorder(world_, kAnna, orders);
    world_.set_fault(FaultPoint::RecordIsWritten, FaultRule::on_visit(1));
    world_.run_for(1s);
    EXPECT_FALSE(world_.is_running(kAnna));
    EXPECT_EQ(bert->count("Received 1 #1 0"), 0U);
    EXPECT_EQ(bert->count("LinkDown 1"), 1U);
}

TEST_F(FaultPointsOfAWorld, TheProcessComesBackAfterTheDelayOfTheRule) {
    const auto anna = add_recorder(world_, kAnna, {{"Woke", durable(1, "a")}});
    world_.set_fault(FaultPoint::RecordIsSynced, FaultRule::on_visit(1, 5s));
    world_.run_for(4s);
    EXPECT_FALSE(world_.is_running(kAnna));
    world_.run_for(2s);
    EXPECT_TRUE(world_.is_running(kAnna));
    EXPECT_EQ(anna->told.size(), 2U);
}

TEST_F(FaultPointsOfAWorld, ARefusedDialFails) {
    add_recorder(world_, kBert, {});
    const auto anna = add_recorder(world_, kAnna, {{"Woke", node::Dial{kBert, {}, ""}}});
    world_.set_fault(FaultPoint::DialArrives, FaultRule::on_visit(1));
    world_.run_for(1s);
    EXPECT_EQ(anna->texts(), (Texts{"Woke", "DialFailed 2"}));
}

TEST_F(FaultPointsOfAWorld, APeerThatDiesAsItsLinkComesUpIsHeardOf) {
    const auto bert = add_recorder(world_, kBert, {});
    const auto anna = add_recorder(world_, kAnna, {{"Woke", node::Dial{kBert, {}, ""}}});
    FaultRule rule = world_.of_peer(kAnna, FaultRule::on_visit(1));
    world_.set_fault(FaultPoint::LinkComesUp, rule);
    world_.run_for(1s);
    EXPECT_EQ(anna->texts(), (Texts{"Woke", "LinkUp 2"}));
    EXPECT_EQ(bert->texts(), (Texts{"Woke", "LinkUp 1", "LinkDown 1"}));
    EXPECT_FALSE(world_.is_running(kAnna));
}

TEST_F(FaultPointsOfAWorld, ACrashInsteadOfATurn) {
    const auto bert = add_recorder(world_, kBert, {});
    Recorder::Orders orders{{"Woke", node::Dial{kBert, Lane::Control, ""}}};
    orders.emplace("LinkUp 2", message(kBert, 1));
    add_recorder(world_, kAnna, orders);
    world_.run_until([&] { return bert->count("LinkUp 1") > 0; }, 1s);
    world_.set_fault(FaultPoint::TurnBegins, world_.of_peer(kBert, FaultRule::on_visit(1)));
    world_.run_for(1s);
    EXPECT_FALSE(world_.is_running(kBert));
    EXPECT_EQ(bert->texts(), (Texts{"Woke", "LinkUp 1"}));
}

TEST_F(FaultPointsOfAWorld, AStalledJobTakesLonger) {
    const auto anna =
        add_recorder(world_, kAnna, {{"Woke", job(1, 100)}}, {.device = {.units_per_s = 100}});
    world_.set_fault(FaultPoint::JobStarts, FaultRule::on_visit(1, 3s));
    world_.run_for(10s);
    EXPECT_EQ(anna->when("Computed 1"), TimePoint(4s));
}

}  // namespace
}  // namespace sim::test
