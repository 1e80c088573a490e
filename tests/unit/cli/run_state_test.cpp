#include "swarm/cli/web/run_state.hpp"

#include "tests/unit/cli/runs/two_peers.hpp"

#include <boost/json.hpp>
#include <gtest/gtest.h>

#include <limits>
#include <string>

namespace swarm::cli {
namespace {

using std::chrono::seconds;
using test::kAnna;
using test::kBert;
namespace json = boost::json;

class RunStateTest : public testing::Test {
 protected:
    RunStateTest() : state_(config()) {}

    static run::RunConfig config() {
        run::RunConfig made;
        made.stages = 2;
        made.steps = 100'000;
        made.microbatches = 5;
        made.batch = 2;
        made.model.context = 10;
        return made;
    }

    void change(PeerId peer, node::PeerChange change, std::uint32_t stage = 0) {
        node::PeerChanged changed;
        changed.peer = peer;
        changed.stage = {stage};
        changed.change = change;
        changed.reason = "why";
        state_.add(changed, now_);
    }

    void commit(std::uint64_t step, double loss) {
        node::StepCommitted committed;
        committed.step = step;
        committed.loss = loss;
        committed.took = seconds(2);
        committed.replayed = 1;
        state_.add(committed, now_);
    }

    [[nodiscard]] json::value state() const { return json::parse(state_.to_json(now_)); }

    [[nodiscard]] std::size_t peers_of(std::uint32_t stage) const {
        return state().at("stages").at(stage).at("peers").as_array().size();
    }

    TimePoint now_{seconds(1000)};
    RunState state_;
};

TEST_F(RunStateTest, APeerIsWhereItWorksUntilItIsGone) {
    using enum node::PeerChange;
    change(kAnna, Observing, 0);
    EXPECT_EQ(state().at("stages").at(0).at("peers").at(0).at("state").as_string(), "joining");
    change(kAnna, Admitted, 0);
    change(kBert, Admitted, 0);
    EXPECT_EQ(peers_of(0), 2U);
    change(kBert, Moved, 1);
    EXPECT_EQ(peers_of(0), 1U);
    EXPECT_EQ(peers_of(1), 1U);
    change(kAnna, Suspect, 0);
    EXPECT_EQ(state().at("stages").at(0).at("peers").at(0).at("state").as_string(), "suspect");
    change(kAnna, Fenced, 0);
    EXPECT_EQ(peers_of(0), 0U);
    now_ += seconds(5);
    EXPECT_EQ(state().at("events").at(0).at("what").as_string(), "fenced");
    EXPECT_EQ(state().at("events").at(0).at("seconds_ago").to_number<double>(), 5);
}

TEST_F(RunStateTest, SharesAreThoseOfTheLastStep) {
    using enum node::PeerChange;
    change(kAnna, Admitted, 0);
    change(kBert, Admitted, 0);
    commit(0, 3);
    state_.add(node::WorkCounted{0, kAnna, {0}, 3, 1.5}, now_);
    state_.add(node::WorkCounted{0, kBert, {0}, 1, 0.5}, now_);
    EXPECT_EQ(state().at("stages").at(0).at("peers").at(0).at("share").to_number<double>(), 0.75);
    commit(1, 3);
    state_.add(node::WorkCounted{1, kBert, {0}, 4, 0.5}, now_);
    EXPECT_EQ(state().at("stages").at(0).at("peers").at(0).at("share").to_number<double>(), 0);
    EXPECT_EQ(state().at("stages").at(0).at("peers").at(1).at("microbatches").to_number<int>(), 5);
}

TEST_F(RunStateTest, LossesAreFewMeansAndForgetWhatARollbackUndid) {
    for (std::uint64_t step = 0; step < 5000; ++step) {
        commit(step, step % 2 == 0 ? 1 : 3);
    }
    const json::array losses = state().at("losses").as_array();
    EXPECT_LE(losses.size(), RunState::kLossesMax);
    EXPECT_GE(losses.size(), RunState::kLossesMax / 3);
    EXPECT_EQ(losses.at(10).at(1).to_number<double>(), 2);
    EXPECT_EQ(losses.back().at(0).to_number<int>(), 5000);
    commit(99, 7);
    EXPECT_EQ(state().at("losses").as_array().back().at(0).to_number<int>(), 100);
    EXPECT_EQ(state().at("step").to_number<int>(), 100);
}

TEST_F(RunStateTest, EventsAreBoundedAndAnInfiniteLossIsNull) {
    for (int i = 0; i < 200; ++i) {
        change(kAnna, node::PeerChange::Suspect);
    }
    EXPECT_EQ(state().at("events").as_array().size(), RunState::kEventsMax);
    commit(0, std::numeric_limits<double>::infinity());
    EXPECT_TRUE(state().at("loss").is_null());
    EXPECT_TRUE(state().at("losses").as_array().empty());
}

TEST_F(RunStateTest, FiguresAreThoseOfPrometheus) {
    change(kAnna, node::PeerChange::Admitted, 1);
    commit(0, 2.5);
    const std::string text = state_.to_prometheus();
    EXPECT_NE(text.find("swarm_steps_total 1\n"), std::string::npos) << text;
    EXPECT_NE(text.find("swarm_loss 2.5\n"), std::string::npos) << text;
    EXPECT_NE(text.find("swarm_tokens_per_second 50\n"), std::string::npos) << text;
    EXPECT_NE(text.find("swarm_stage_peers{stage=\"0\"} 0\n"), std::string::npos) << text;
    EXPECT_NE(text.find("swarm_stage_peers{stage=\"1\"} 1\n"), std::string::npos) << text;
}

TEST_F(RunStateTest, BytesAreSummedByTheCodecsOfTheirSteps) {
    const auto add = [&](const std::string& codecs, std::uint64_t bytes) {
        node::StepCommitted step;
        step.codecs = codecs;
        step.wire_bytes = bytes;
        state_.add(step, now_);
    };
    add("", 1);
    EXPECT_EQ(state().at("codecs"), json::parse(R"([{"codecs":"none/none","wire_bytes":1}])"));
    add("int8/int8", 10);
    add("none/none", 100);
    EXPECT_EQ(state().at("codecs"), json::parse(R"([{"codecs":"none/none","wire_bytes":101},
            {"codecs":"int8/int8","wire_bytes":10}])"));
    for (int i = 0; i < 100; ++i) {
        add(std::to_string(i), 1);
    }
    EXPECT_EQ(state().at("codecs").as_array().size(), RunState::kCodecsMax);
    EXPECT_EQ(state().at("wire_bytes").to_number<int>(), 211);
}

TEST_F(RunStateTest, ANewCoordinatorKnowsNoPeer) {
    state_.add(Listening{"10.0.0.7:7117", "name@10.0.0.7:7117"}, now_);
    EXPECT_FALSE(state().at("join_here_only").as_bool());
    change(kAnna, node::PeerChange::Admitted);
    state_.add(Listening{"127.0.0.1:7117", "name@127.0.0.1:7117"}, now_);
    EXPECT_TRUE(state().at("join_here_only").as_bool());
    EXPECT_EQ(peers_of(0), 0U);
    change(kAnna, node::PeerChange::Admitted);
    EXPECT_EQ(peers_of(0), 1U);
}

TEST_F(RunStateTest, AnEndThatNoReportTellsIsShown) {
    change(kAnna, node::PeerChange::Admitted, 1);
    state_.note_end(kAnna, "exit code 137", now_);
    EXPECT_EQ(state().at("stages").at(1).at("peers").at(0).at("state").as_string(), "suspect");
    const json::value event = state().at("events").at(0);
    EXPECT_EQ(event.at("what").as_string(), "ended");
    EXPECT_EQ(event.at("stage").to_number<int>(), 1);
    EXPECT_EQ(event.at("reason").as_string(), "exit code 137");
    state_.note_end(kBert, "exit code 1", now_);
    EXPECT_TRUE(state().at("events").at(0).at("stage").is_null()) << "it was never admitted";
    state_.note("coordinator killed", std::nullopt, "", now_);
    EXPECT_TRUE(state().at("events").at(0).at("peer").is_null());
}

}  // namespace
}  // namespace swarm::cli
