// Text from a run in training: the generator beside real servers, on virtual time.
#include "sim/run/run_world.hpp"
#include "stacking/generator.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <utility>

namespace sim {
namespace {

using namespace std::chrono_literals;

/// The reports of the generator.
struct Told {
    std::vector<std::uint32_t> tokens;
    bool done = false;
    std::string failure;
};

/// A generator whose reports a test can read.
class Overheard final : public node::Role {
 public:
    explicit Overheard(Told& told) : told_(told) {
        stacking::Generator::Options options;
        options.coordinator_address = "sim:" + std::to_string(RunWorld::coordinator().words[0]);
        generator_.emplace(std::move(options));
    }

    void on(const node::Event& event, swarm::TimePoint now, node::Outbox& out) override {
        generator_->on(event, now, out);
        for (const node::Action& action : out.actions) {
            if (const auto* tell = std::get_if<node::Tell>(&action)) {
                hear(tell->report);
            }
        }
    }

    [[nodiscard]] swarm::TimePoint next_deadline() const override {
        return generator_->next_deadline();
    }

 private:
    void hear(const node::Report& report) {
        if (const auto* token = std::get_if<node::TokenGenerated>(&report)) {
            told_.tokens.push_back(token->token);
            told_.done = token->last;
        } else if (const auto* failed = std::get_if<node::GenerationFailed>(&report)) {
            told_.failure = failed->reason;
            told_.done = true;
        }
    }

    Told& told_;
    std::optional<stacking::Generator> generator_;
};

constexpr PeerId kClient{{500'000}};

class Generate : public testing::Test {
 protected:
    Generate() : run_(options()) {
        run_.world().add_peer(kClient, [this](swarm::Incarnation) {
            return std::make_unique<Overheard>(told_);
        });
        node::GenerateRequest request;
        request.prompt = {3};
        request.tokens = 40;
        run_.world().ask(kClient, {request});
    }

    static RunWorldOptions options() {
        RunWorldOptions options;
        options.config = oracle_config(2, 3, 400);
        options.peers = 4;
        return options;
    }

    Told told_;
    RunWorld run_;
};

TEST_F(Generate, GivesEveryTokenWhileTheRunTrains) {
    EXPECT_TRUE(run_.world().run_until([&] { return told_.done; }, 120s));
    EXPECT_EQ(told_.failure, "");
    EXPECT_EQ(told_.tokens.size(), 40U);
}

TEST_F(Generate, SurvivesThePeersThatAnsweredIt) {
    run_.world().run_until([&] { return told_.tokens.size() == 5; }, 120s);
    ASSERT_EQ(told_.tokens.size(), 5U);
    run_.world().crash(peer(1));
    run_.world().run_until([&] { return told_.tokens.size() == 10; }, 120s);
    run_.world().restart(peer(1));
    run_.world().run_for(10s);
    run_.world().crash(peer(2));
    EXPECT_TRUE(run_.world().run_until([&] { return told_.done; }, 120s));
    EXPECT_EQ(told_.failure, "");
    EXPECT_EQ(told_.tokens.size(), 40U);
}

TEST_F(Generate, GoesOnWhileTheCoordinatorIsAway) {
    run_.world().run_until([&] { return told_.tokens.size() == 5; }, 120s);
    run_.world().crash(RunWorld::coordinator());
    EXPECT_TRUE(run_.world().run_until([&] { return told_.done; }, 120s));
    EXPECT_EQ(told_.tokens.size(), 40U);
}

}  // namespace
}  // namespace sim
