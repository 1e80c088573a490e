#include "swarm/coordinator/peer_streams.hpp"

#include "swarm/protocol/limits.hpp"
#include "tests/start.hpp"
#include "tests/unit/run/script.hpp"

#include <gtest/gtest.h>

namespace swarm::coordinator {
namespace {

using node::Lane;
using run::test::Actions;
using run::test::received;
using swarm::test::kStart;

constexpr PeerId kOther{{7}};

class PeerStreamsTest : public testing::Test {
 protected:
    std::vector<node::Send> link_up(Lane lane, std::uint64_t incarnation) {
        Actions actions;
        is_new_ = streams_.link_up({kOther, lane, {incarnation}}, actions.at(kStart));
        return actions.all<node::Send>();
    }

    Actions send(const char* reason, PeerId peer = kOther) {
        Actions actions;
        streams_.send(peer, protocol::Leave{reason}, actions.at(kStart));
        return actions;
    }

    bool receive(protocol::Message message) {
        Actions actions;
        const bool taken =
            streams_.receive(received(kOther, std::move(message)), actions.at(kStart));
        closed_ = !actions.all<node::Close>().empty();
        acknowledged_ = !actions.all<node::Send>().empty();
        return taken;
    }

    PeerStreams streams_;
    bool is_new_ = false;
    bool closed_ = false;
    bool acknowledged_ = false;
};

TEST_F(PeerStreamsTest, SendsNothingToAPeerThatNeverConnected) {
    EXPECT_TRUE(send("a").out.actions.empty());
    EXPECT_EQ(streams_.find(kOther), nullptr);
}

TEST_F(PeerStreamsTest, SendsNumberedMessagesOverTheControlLink) {
    link_up(Lane::Control, 1);
    const auto sends = send("a").all<node::Send>();
    ASSERT_EQ(sends.size(), 1U);
    EXPECT_EQ(sends[0].message.number, 1U);
    EXPECT_TRUE(streams_.is_linked(kOther));
}

TEST_F(PeerStreamsTest, KeepsMessagesUntilTheSameIncarnationIsBack) {
    link_up(Lane::Control, 1);
    streams_.link_down({kOther, Lane::Control}, kStart);
    EXPECT_FALSE(streams_.is_linked(kOther));
    EXPECT_TRUE(send("a").out.actions.empty());
    const auto repeated = link_up(Lane::Control, 1);
    EXPECT_FALSE(is_new_);
    ASSERT_EQ(repeated.size(), 1U);
    EXPECT_EQ(repeated[0].message.body, protocol::Body(protocol::Leave{"a"}));
}

TEST_F(PeerStreamsTest, RepeatsNothingThatWasAcknowledged) {
    link_up(Lane::Control, 1);
    send("a");
    EXPECT_TRUE(receive({0, 1, protocol::Acknowledge{}}));
    streams_.link_down({kOther, Lane::Control}, kStart);
    EXPECT_TRUE(link_up(Lane::Control, 1).empty());
}

TEST_F(PeerStreamsTest, StartsAnewForAnotherIncarnation) {
    link_up(Lane::Control, 1);
    EXPECT_TRUE(is_new_);
    send("a");
    EXPECT_TRUE(link_up(Lane::Control, 2).empty());
    EXPECT_TRUE(is_new_);
    EXPECT_EQ(send("b").all<node::Send>().at(0).message.number, 1U);
}

TEST_F(PeerStreamsTest, CountsTheTwoLanesOfAnIncarnationAsOne) {
    link_up(Lane::Bulk, 1);
    EXPECT_TRUE(is_new_);
    EXPECT_FALSE(streams_.is_linked(kOther));
    link_up(Lane::Control, 1);
    EXPECT_FALSE(is_new_);
    EXPECT_TRUE(streams_.find(kOther)->bulk_up);
    streams_.link_down({kOther, Lane::Bulk}, kStart);
    EXPECT_FALSE(streams_.find(kOther)->bulk_up);
    EXPECT_TRUE(streams_.is_linked(kOther));
}

TEST_F(PeerStreamsTest, LetsEachMessageThroughOnce) {
    link_up(Lane::Control, 1);
    EXPECT_TRUE(receive({1, 0, protocol::Leave{"a"}}));
    EXPECT_FALSE(receive({1, 0, protocol::Leave{"a"}}));
    EXPECT_FALSE(closed_);
}

TEST_F(PeerStreamsTest, ClosesALinkWhoseStreamHasAGap) {
    link_up(Lane::Control, 1);
    EXPECT_TRUE(receive({1, 0, protocol::Leave{"a"}}));
    EXPECT_FALSE(receive({3, 0, protocol::Leave{"c"}}));
    EXPECT_TRUE(closed_);
}

TEST_F(PeerStreamsTest, AcknowledgesABusyStreamByItself) {
    link_up(Lane::Control, 1);
    for (std::uint64_t number = 1; number <= 63; ++number) {
        receive({number, 0, protocol::Leave{"a"}});
        EXPECT_FALSE(acknowledged_);
    }
    receive({64, 0, protocol::Leave{"a"}});
    EXPECT_TRUE(acknowledged_);
}

TEST_F(PeerStreamsTest, IgnoresPeersThatItDoesNotKnow) {
    EXPECT_FALSE(receive({1, 0, protocol::Leave{"a"}}));
    EXPECT_EQ(streams_.find(kOther), nullptr);
}

TEST_F(PeerStreamsTest, ClosesTheLinkOfANewcomerThatStopsReading) {
    link_up(Lane::Control, 1);
    for (std::size_t i = 0; i < protocol::kUnacknowledgedByNewcomersMax; ++i) {
        EXPECT_TRUE(send("a").all<node::Close>().empty());
    }
    EXPECT_EQ(send("a").all<node::Close>().size(), 1U);
}

TEST_F(PeerStreamsTest, ClosesTheLinkOfAPeerThatStopsReading) {
    link_up(Lane::Control, 1);
    streams_.trust(kOther);
    for (std::size_t i = 0; i < protocol::kUnacknowledgedMax; ++i) {
        EXPECT_TRUE(send("a").all<node::Close>().empty());
    }
    const Actions actions = send("a");
    EXPECT_EQ(actions.all<node::Close>().size(), 1U);
    EXPECT_TRUE(actions.all<node::Send>().empty());
}

TEST_F(PeerStreamsTest, PostsOnceAndWithoutANumber) {
    link_up(Lane::Control, 1);
    Actions actions;
    streams_.post(kOther, protocol::HeartbeatReply{}, {}, actions.at(kStart));
    ASSERT_EQ(actions.all<node::Send>().size(), 1U);
    EXPECT_EQ(actions.all<node::Send>()[0].message.number, 0U);
    streams_.link_down({kOther, Lane::Control}, kStart);
    EXPECT_TRUE(link_up(Lane::Control, 1).empty());
}

TEST_F(PeerStreamsTest, RemembersAPeerOnceANumberWentEitherWay) {
    link_up(Lane::Control, 1);
    EXPECT_FALSE(streams_.left_nothing(kOther));  // the peer is linked
    receive({0, 0, protocol::Acknowledge{}});
    streams_.link_down({kOther, Lane::Control}, kStart);
    EXPECT_TRUE(streams_.left_nothing(kOther));
    send("a");
    EXPECT_FALSE(streams_.left_nothing(kOther));
}

TEST_F(PeerStreamsTest, KeepsPeersWithASlotOrALinkLongerThanOthers) {
    run::Roster roster(1);
    link_up(Lane::Control, 1);
    link_up(Lane::Bulk, 1);
    EXPECT_FALSE(streams_.longest_gone(roster, 0));
    streams_.link_down({kOther, Lane::Control}, kStart);
    EXPECT_FALSE(streams_.longest_gone(roster, 0));
    streams_.link_down({kOther, Lane::Bulk}, kStart);
    EXPECT_EQ(streams_.longest_gone(roster, 0), kOther);
    EXPECT_FALSE(streams_.longest_gone(roster, 1));
    protocol::SlotInfo info;
    info.peer = kOther;
    roster.add(info);
    EXPECT_FALSE(streams_.longest_gone(roster, 0));
}

// The peer does not know that it was forgotten, so it goes on counting.
TEST_F(PeerStreamsTest, GoesOnWithAPeerThatWasForgotten) {
    link_up(Lane::Control, 1);
    receive({1, 0, protocol::Leave{"a"}});
    send("a");
    send("b");
    streams_.link_down({kOther, Lane::Control}, kStart);
    streams_.forget(kOther);
    link_up(Lane::Control, 1);
    EXPECT_TRUE(receive({2, 2, protocol::Leave{"b"}}));
    EXPECT_FALSE(closed_);
    EXPECT_EQ(send("c").all<node::Send>().at(0).message.number, 3U);
    EXPECT_FALSE(receive({2, 2, protocol::Leave{"b"}}));
    EXPECT_FALSE(receive({4, 2, protocol::Leave{"d"}}));
    EXPECT_TRUE(closed_);
}

}  // namespace
}  // namespace swarm::coordinator
