// Clients of one server share its pages and the places in its table, and keep them for a while
// without a link.
#include "stacking/sessions/client_quota.hpp"
#include "tests/unit/stacking_sessions/hop_bench.hpp"

#include <algorithm>

namespace stacking::sessions {
namespace {

constexpr std::uint32_t kRoom = 100;  // positions of the fixture's compute

class FairHopsTest : public HopTableTest {
 protected:
    FairHopsTest() {
        for (const PeerId peer : {kClient, kStranger}) {
            connect(peer, peer.words[0]);
        }
    }

    void connect(PeerId peer, std::uint64_t network) {
        links_.on(node::LinkUp{peer, node::Lane::Control, {1}, false, network});
    }

    /// Opens a session of 20 positions; the first hop of the fixture is the only one.
    node::Outbox ask(PeerId client, std::uint64_t session) {
        protocol::SessionOpen asked = open(1, session);
        asked.previous = {client, ""};
        return take(client, asked);
    }

    [[nodiscard]] std::uint64_t reserved() const { return compute_->reserved_positions(); }

    void lose(PeerId client) {
        links_.on(node::LinkDown{client, node::Lane::Control});
        node::Outbox out;
        table_->client_lost(client, {now_, out});
    }

    void wake_after(swarm::Duration time) {
        now_ += time;
        node::Outbox out;
        table_->wake({now_, out});
        for (node::Action& action : out.actions) {
            if (const auto* compute = std::get_if<node::Compute>(&action)) {
                compute->work->run();
            }
        }
    }
};

TEST_F(FairHopsTest, AStrangerThatHasAllPagesGivesThemToTheNextClient) {
    for (std::uint64_t session = 1; session <= 5; ++session) {
        EXPECT_EQ(sent<SessionOpened>(ask(kStranger, session)).size(), 1U);
    }
    EXPECT_EQ(reserved(), kRoom);
    const node::Outbox out = ask(kClient, 100);
    ASSERT_EQ(sent<SessionOpened>(out).size(), 1U);
    EXPECT_EQ(sent<SessionOpened>(out)[0].first, kClient);
    const auto troubles = sent<SessionTrouble>(out);
    ASSERT_EQ(troubles.size(), 1U);
    EXPECT_EQ(troubles[0].first, kStranger);
    EXPECT_EQ(troubles[0].second.reason, SessionReason::Full);
    EXPECT_EQ(troubles[0].second.id.session, 5U);
    EXPECT_EQ(reserved(), kRoom);
    EXPECT_EQ(reason_of(ask(kStranger, 6)), SessionReason::Full);
}

TEST_F(FairHopsTest, TheStrangerKeepsAnEqualShare) {
    for (std::uint64_t session = 1; session <= 5; ++session) {
        ask(kStranger, session);
    }
    EXPECT_EQ(sent<SessionOpened>(ask(kClient, 100)).size(), 1U);
    EXPECT_EQ(sent<SessionOpened>(ask(kClient, 101)).size(), 1U);
    EXPECT_EQ(reason_of(ask(kClient, 102)), SessionReason::Full);
}

TEST_F(FairHopsTest, ARefusedSessionTakesNoPlace) {
    for (std::uint64_t session = 1; session <= 9; ++session) {
        ask(kStranger, session);
    }
    EXPECT_EQ(table_->hops(), 5U);
}

TEST_F(FairHopsTest, AStrangerWithAllPlacesGivesOneToTheNextClient) {
    for (std::uint64_t session = 1; session <= protocol::kSessionHopsMax; ++session) {
        protocol::SessionOpen none = open(1, session);
        none.positions = 1;
        take(kStranger, none);
        compute_->drop({session});  // so that places end before pages do
    }
    ASSERT_EQ(table_->hops(), protocol::kSessionHopsMax);
    const node::Outbox out = ask(kClient, 5000);
    EXPECT_EQ(sent<SessionOpened>(out).size(), 1U);
}

TEST_F(FairHopsTest, ManyStrangersThatSendNothingGiveWayToo) {
    for (std::uint64_t session = 1; session <= 5; ++session) {
        connect({{kStranger.words[0] + 100 * session}}, kClient.words[0]);
        ask({{kStranger.words[0] + 100 * session}}, session);
    }
    EXPECT_EQ(reason_of(ask(kClient, 100)), SessionReason::Full);
    wake_after(kEmptySessionKept);
    EXPECT_EQ(sent<SessionOpened>(ask(kClient, 101)).size(), 1U);
}

TEST_F(FairHopsTest, TheHopsOfAClientEndSoonAfterItsLink) {
    ask(kClient, kSession);
    lose(kClient);
    EXPECT_EQ(table_->next_deadline(), now_ + kClientGrace);
    wake_after(kClientGrace - 1ms);
    EXPECT_EQ(reserved(), 20U);
    wake_after(1ms);
    EXPECT_EQ(reserved(), 0U);
    EXPECT_EQ(table_->hops(), 0U);
}

TEST_F(FairHopsTest, AClientThatDialsAgainGoesOnWithItsCache) {
    ask(kClient, kSession);
    take(kClient, protocol::SessionResume{{kSession, 1, 0}, 0, 0});
    take_rows(kClient, rows(0, 5));
    lose(kClient);
    wake_after(kClientGrace - 1ms);
    connect(kClient, 9);
    node::Outbox out;
    table_->client_linked(kClient, {now_, out});
    wake_after(2ms);
    EXPECT_EQ(filled(2), 5U);
}

TEST_F(FairHopsTest, RowsOfOtherHopsDoNotKeepAGoneClientsHop) {
    ask(kClient, kSession);
    take(kClient, protocol::SessionResume{{kSession, 1, 0}, 0, 0});
    lose(kClient);
    now_ += kClientGrace - 1ms;
    take_rows(kClient, rows(0, 5));
    wake_after(1ms);
    EXPECT_EQ(table_->hops(), 0U);
}

}  // namespace
}  // namespace stacking::sessions
