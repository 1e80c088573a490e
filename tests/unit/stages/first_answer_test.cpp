// A stage server before the coordinator has answered: how long it waits, and what it says then.
#include "stages/server/stage_server.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

namespace stages {
namespace {

using namespace std::chrono_literals;

constexpr PeerId kSelf{{2}};
constexpr PeerId kOwnCoordinator{{9}};

TEST(StageServerAlone, SaysWhyNoCoordinatorWasReachedInTime) {
    for (const bool is_known : {false, true}) {
        StageServer::Options options;
        options.self = kSelf;
        options.coordinator_address = "there:7117";
        options.first_contact_within = 30s;
        StageServer server(std::move(options));
        node::Outbox out;
        server.on(node::Woke{}, TimePoint{}, out);
        if (is_known) {
            const swarm::Error error{
                swarm::ErrorCode::Unreachable, swarm::Reaction::Retry, "cannot find there"};
            server.on(node::DialFailed{{}, node::Lane::Control, error}, TimePoint{} + 1s, out);
        }
        out = {};
        server.on(node::Woke{}, TimePoint{} + 30s, out);
        ASSERT_EQ(out.actions.size(), 1U);
        const auto& report = std::get<node::Tell>(out.actions[0]).report;
        EXPECT_EQ(
            std::get<node::RunFailed>(report).text,
            std::string("no coordinator at there:7117 in time: ") +
                (is_known ? "cannot find there; is `swarm train` running there, and is the port "
                            "right?"
                          : "no answer")
        );
    }
}

class FirstAnswer : public testing::Test {
 protected:
    FirstAnswer() {
        StageServer::Options options;
        options.self = kSelf;
        options.coordinator_address = "there:7117";
        options.first_contact_within = 30s;
        server_.emplace(std::move(options));
        on(node::Woke{});
        on(node::LinkUp{kOwnCoordinator, node::Lane::Control, {1}, true});
        on(node::LinkUp{kOwnCoordinator, node::Lane::Bulk, {1}, true});
    }

    void on(const node::Event& event) {
        out_ = {};
        server_->on(event, now_, out_);
    }

    void hear(protocol::Body body) {
        on(node::Received{kOwnCoordinator, node::Lane::Control, {0, 0, std::move(body)}, {}});
    }

    [[nodiscard]] std::optional<node::RunFailed> failure() const {
        for (const node::Action& action : out_.actions) {
            const auto* const tell = std::get_if<node::Tell>(&action);
            if (tell && std::holds_alternative<node::RunFailed>(tell->report)) {
                return std::get<node::RunFailed>(tell->report);
            }
        }
        return std::nullopt;
    }

    TimePoint now_{};
    node::Outbox out_;
    std::optional<StageServer> server_;
};

TEST_F(FirstAnswer, IsWaitedForAlsoWhenTheLinkIsUp) {
    now_ += 30s;
    on(node::Woke{});
    ASSERT_TRUE(failure());
    EXPECT_EQ(failure()->exit_code, 4);
    EXPECT_EQ(
        failure()->text,
        "no coordinator at there:7117 in time: the process there takes the connection and does not "
        "answer; is it frozen?"
    );
}

TEST(AStranger, ThatDialsAVolunteerIsNotItsCoordinator) {
    constexpr PeerId kStranger{{7}};
    StageServer::Options options;
    options.self = kSelf;
    options.coordinator_address = "there:7117";
    options.first_contact_within = 30s;
    StageServer server(std::move(options));
    const auto sent_to = [&server](PeerId peer, const node::Event& event) {
        node::Outbox out;
        server.on(event, TimePoint{}, out);
        return std::ranges::count_if(out.actions, [peer](const node::Action& action) {
            const auto* const send = std::get_if<node::Send>(&action);
            return send && send->peer == peer;
        });
    };
    sent_to({}, node::Woke{});
    EXPECT_EQ(sent_to(kStranger, node::LinkUp{kStranger, node::Lane::Control, {1}}), 0);
    EXPECT_EQ(sent_to(kStranger, node::LinkUp{kStranger, node::Lane::Bulk, {1}}), 0);
    EXPECT_EQ(
        sent_to(kOwnCoordinator, node::LinkUp{kOwnCoordinator, node::Lane::Control, {1}, true}), 1
    );
}

TEST_F(FirstAnswer, EndsTheWait) {
    hear(protocol::Roster{1, {}});
    now_ += 60s;
    on(node::Woke{});
    EXPECT_FALSE(failure());
}

TEST_F(FirstAnswer, OfADirectorySaysSoAtOnce) {
    hear(protocol::Misdirected{protocol::HubKind::Directory});
    ASSERT_TRUE(failure());
    EXPECT_EQ(failure()->exit_code, 2);
    EXPECT_EQ(
        failure()->text,
        "at there:7117 is a directory, not the coordinator of a run; with --model this machine can "
        "lend a model there, and a run is joined at the address that `swarm train` prints"
    );
    EXPECT_EQ(server_->next_deadline(), swarm::kNever);
}

TEST_F(FirstAnswer, ThatTheKeyIsInUseEndsTheProcess) {
    const swarm::Error error{
        swarm::ErrorCode::Unauthorised, swarm::Reaction::Fatal, "another process has the key"};
    on(node::LinkDown{kOwnCoordinator, node::Lane::Control});
    on(node::DialFailed{kOwnCoordinator, node::Lane::Control, error});
    ASSERT_TRUE(failure());
    EXPECT_EQ(failure()->exit_code, 2);
    EXPECT_EQ(failure()->text, "the coordinator refuses this peer: another process has the key");
}

}  // namespace
}  // namespace stages
