// A server from its start to its place in the directory's list, and the troubles on the way.
#include "stacking/sessions/session_server.hpp"

#include "stacking/sessions/oracle_session_compute.hpp"
#include "tests/unit/stacking_sessions/bench.hpp"

#include <gtest/gtest.h>

namespace stacking::sessions {
namespace {

using namespace std::chrono_literals;
using node::Lane;
using protocol::HostOffer;
using protocol::HostPlace;
using protocol::Register;
using protocol::Registered;

constexpr PeerId kDirectory{{8}};
constexpr PeerId kStranger{{7}};

class SessionServerTest : public testing::Test {
 protected:
    SessionServerTest() {
        options_.self = {{1}};
        options_.model = digest_of(1);
        options_.layers = 6;
        options_.split = {{0, 3}, {3, 6}};
        options_.address = "peer.example:1";
        options_.directory_address = "directory.example:1";
        options_.load = [](protocol::LayerRange layers) {
            OracleModel model;
            model.layers = 6;
            return LoadedLayers{
                std::make_shared<OracleSessionCompute>(model, layers, 100), digest_of(2)};
        };
    }

    void start() {
        server_.emplace(options_);
        on(node::Woke{});
    }

    /// Lets the directory answer the dial; the server takes the peer that answers for the
    /// directory.
    void link_up() { on(node::LinkUp{kDirectory, Lane::Control, {1}, true}); }

    void on(const node::Event& event) {
        out_.actions.clear();
        server_->on(event, now_, out_);
    }

    template <class Body>
    void receive(PeerId from, Body body) {
        on(node::Received{from, Lane::Control, {0, 0, std::move(body)}, {}});
    }

    /// Runs the device's work of the last turn.
    bool compute() {
        for (const node::Action& action : std::vector<node::Action>(out_.actions)) {
            if (const auto* work = std::get_if<node::Compute>(&action)) {
                work->work->run();
                on(node::Computed{work->job, {}});
                return true;
            }
        }
        return false;
    }

    void wake_after(swarm::Duration time) {
        now_ += time;
        on(node::Woke{});
    }

    [[nodiscard]] std::optional<node::RunFailed> failure() const {
        for (const node::Action& action : out_.actions) {
            const auto* tell = std::get_if<node::Tell>(&action);
            if (tell != nullptr && std::holds_alternative<node::RunFailed>(tell->report)) {
                return std::get<node::RunFailed>(tell->report);
            }
        }
        return std::nullopt;
    }

    SessionServer::Options options_;
    std::optional<SessionServer> server_;
    TimePoint now_{1s};
    node::Outbox out_;
};

TEST_F(SessionServerTest, OffersLoadsAndRegisters) {
    start();
    link_up();
    const auto offers = sent<HostOffer>(out_);
    ASSERT_EQ(offers.size(), 1U);
    EXPECT_EQ(offers[0].first, kDirectory);
    EXPECT_EQ(offers[0].second.split, options_.split);
    receive(kDirectory, HostPlace{digest_of(1), {3, 6}});
    ASSERT_TRUE(compute());
    const auto registered = sent<Register>(out_);
    ASSERT_EQ(registered.size(), 1U);
    EXPECT_EQ(registered[0].second.hosted, (protocol::LayerRange{3, 6}));
    EXPECT_EQ(registered[0].second.weights, digest_of(2));
    EXPECT_EQ(registered[0].second.address, "peer.example:1");
    wake_after(DirectoryLink::kBeatEvery);
    EXPECT_EQ(sent<Register>(out_).size(), 1U);
}

TEST_F(SessionServerTest, RepeatsItsOfferWhileItLoads) {
    start();
    link_up();
    receive(kDirectory, HostPlace{digest_of(1), {0, 3}});
    wake_after(DirectoryLink::kBeatEvery);
    EXPECT_EQ(sent<HostOffer>(out_).size(), 1U);
    receive(kDirectory, HostPlace{digest_of(1), {3, 6}});  // too late: the server is loading
    EXPECT_FALSE(compute());
}

TEST_F(SessionServerTest, ServesItsFixedLayersWhateverIsNeeded) {
    options_.fixed = {0, 6};
    start();
    ASSERT_TRUE(compute());
    link_up();
    EXPECT_TRUE(sent<HostOffer>(out_).empty());
    ASSERT_EQ(sent<Register>(out_).size(), 1U);
    EXPECT_EQ(sent<Register>(out_)[0].second.hosted, (protocol::LayerRange{0, 6}));
}

TEST_F(SessionServerTest, TakesAPlaceOfItsModelFromItsDirectoryOnly) {
    start();
    link_up();
    receive(kStranger, HostPlace{digest_of(1), {0, 3}});
    EXPECT_FALSE(compute());
    receive(kDirectory, HostPlace{digest_of(9), {0, 3}});
    EXPECT_FALSE(compute());
    receive(kDirectory, HostPlace{digest_of(1), {0, 7}});
    EXPECT_FALSE(compute());
    receive(kDirectory, HostPlace{digest_of(1), {0, 6}});  // not a part of the server's own split
    EXPECT_TRUE(compute());
}

TEST_F(SessionServerTest, RefusesSessionsBeforeItsLayersAreLoaded) {
    start();
    protocol::SessionOpen open;
    open.id = {5, 1, 0};
    receive(kStranger, open);
    const auto troubles = sent<protocol::SessionTrouble>(out_);
    ASSERT_EQ(troubles.size(), 1U);
    EXPECT_EQ(troubles[0].second.reason, protocol::SessionReason::Mismatch);
    receive(kStranger, protocol::SessionClose{5});
    on(node::Received{kStranger, Lane::Bulk, {0, 0, protocol::SessionRows{}}, {}});
    EXPECT_EQ(server_->hops(), 0U);
}

TEST_F(SessionServerTest, EndsWhenItsLayersCannotBeLoaded) {
    options_.load = [](protocol::LayerRange) -> swarm::Result<LoadedLayers> {
        return swarm::Error{
            swarm::ErrorCode::Full, swarm::Reaction::Reject, "not enough memory for the weights"};
    };
    start();
    link_up();
    receive(kDirectory, HostPlace{digest_of(1), {0, 3}});
    ASSERT_TRUE(compute());
    ASSERT_TRUE(failure());
    EXPECT_EQ(failure()->text, "not enough memory for the weights");
    EXPECT_EQ(server_->next_deadline(), swarm::kNever);
}

TEST_F(SessionServerTest, EndsWhenTheDirectoryIsNotReachedInTime) {
    start();
    const swarm::Error refused{
        swarm::ErrorCode::Unreachable, swarm::Reaction::Retry, "connection refused"};
    on(node::DialFailed{PeerId{}, Lane::Control, refused});
    EXPECT_FALSE(failure());
    wake_after(options_.first_contact_within);
    ASSERT_TRUE(failure());
    EXPECT_EQ(failure()->exit_code, 4);
    EXPECT_EQ(failure()->text, "no directory at directory.example:1: connection refused");
}

TEST_F(SessionServerTest, EndsWhenTheDirectoryTakesTheLinkAndDoesNotAnswer) {
    start();
    link_up();
    wake_after(options_.first_contact_within);
    ASSERT_TRUE(failure());
    EXPECT_EQ(failure()->exit_code, 4);
    EXPECT_NE(failure()->text.find("takes the connection and does not answer"), std::string::npos);
}

TEST_F(SessionServerTest, EndsAtOnceWhereACoordinatorAnswers) {
    start();
    link_up();
    receive(kDirectory, protocol::Misdirected{protocol::HubKind::Coordinator});
    ASSERT_TRUE(failure());
    EXPECT_EQ(failure()->exit_code, 2);
    EXPECT_EQ(
        failure()->text,
        "at directory.example:1 is the coordinator of a run, not a directory; without --model this "
        "machine can join that run, and a model is joined at the address that `swarm directory` "
        "prints"
    );
}

TEST_F(SessionServerTest, EndsWhenItsKeyIsInUse) {
    start();
    const swarm::Error in_use{
        swarm::ErrorCode::Unauthorised, swarm::Reaction::Fatal, "another process has the key"};
    on(node::DialFailed{PeerId{}, Lane::Control, in_use});
    ASSERT_TRUE(failure());
    EXPECT_EQ(failure()->exit_code, 2);
}

TEST_F(SessionServerTest, WaitsForADirectoryThatAnsweredOnce) {
    start();
    link_up();
    receive(kDirectory, HostPlace{options_.model, {0, 3}});
    on(node::LinkDown{kDirectory, Lane::Control});
    wake_after(2 * options_.first_contact_within);
    EXPECT_FALSE(failure());
}

TEST_F(SessionServerTest, LogsARefusalOncePerReason) {
    options_.fixed = {0, 6};
    start();
    ASSERT_TRUE(compute());
    link_up();
    const auto lines = [&](const std::string& refusal) {
        receive(kDirectory, Registered{refusal});
        return out_.actions.size();
    };
    EXPECT_EQ(lines("other weights"), 1U);
    EXPECT_EQ(lines("other weights"), 0U);
    EXPECT_EQ(lines("too many peers"), 1U);
}

}  // namespace
}  // namespace stacking::sessions
