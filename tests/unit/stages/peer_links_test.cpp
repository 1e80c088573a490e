#include "stages/server/peer_links.hpp"

#include "tests/start.hpp"
#include "tests/unit/stages/small_models.hpp"

#include <gtest/gtest.h>

namespace stages {
namespace {

using namespace std::chrono_literals;
using node::Lane;
using swarm::test::kStart;

constexpr PeerId kOwn{{50}};
constexpr PeerId kPeer{{60}};   // is dialled at once, because the own id is smaller
constexpr PeerId kLower{{40}};  // has a start of 1 s

/// The links of a server of the middle stage of three.
class PeerLinksTest : public testing::Test {
 protected:
    PeerLinksTest() {
        context_.self = kOwn;
        context_.layout = swarm::run::partition(test::small_run(3))[1];
    }

    static protocol::SlotInfo info(
        PeerId peer, std::uint32_t stage = 1, std::uint64_t slot = 1, std::uint64_t incarnation = 1
    ) {
        protocol::SlotInfo info;
        info.slot = {slot};
        info.peer = peer;
        info.stage = {stage};
        info.incarnation = {incarnation};
        info.address = "there:1";
        return info;
    }

    std::vector<SlotId> follow(std::vector<protocol::SlotInfo> slots, TimePoint now = kStart) {
        context_.roster.replace({context_.roster.number() + 1, std::move(slots)});
        out_ = {};
        return links_.follow_roster({now, out_});
    }

    bool up(PeerId peer, Lane lane, std::uint64_t incarnation = 1) {
        const bool dialed = peer == kPeer;  // the own dial was first
        return links_.on(node::LinkUp{peer, lane, {incarnation}, dialed}, {kStart, out_});
    }

    bool link(PeerId peer, std::uint64_t incarnation = 1) {
        up(peer, Lane::Control, incarnation);
        return up(peer, Lane::Bulk, incarnation);
    }

    void down(PeerId peer, Lane lane, TimePoint now = kStart) {
        out_ = {};
        links_.on(node::LinkDown{peer, lane}, {now, out_});
    }

    void fail(PeerId peer, Lane lane, TimePoint now = kStart) {
        const swarm::Error error{
            swarm::ErrorCode::Unreachable, swarm::Reaction::Retry, "nobody there"};
        links_.on(node::DialFailed{peer, lane, error}, {now, out_});
    }

    void wake(TimePoint now) {
        out_ = {};
        links_.wake({now, out_});
    }

    /// The dials of the last turn.
    [[nodiscard]] std::vector<node::Dial> dials() const {
        std::vector<node::Dial> found;
        for (const node::Action& action : out_.actions) {
            if (const auto* dial = std::get_if<node::Dial>(&action)) {
                found.push_back(*dial);
            }
        }
        return found;
    }

    /// Log lines since the last call.
    std::vector<node::LogLine> take_lines() {
        std::vector<node::LogLine> found;
        for (const node::Action& action : std::exchange(out_, {}).actions) {
            const auto* const tell = std::get_if<node::Tell>(&action);
            if (const auto* line = tell ? std::get_if<node::LogLine>(&tell->report) : nullptr) {
                found.push_back(*line);
            }
        }
        return found;
    }

    ServerContext context_;
    PeerLinks links_{context_};
    node::Outbox out_;
};

TEST_F(PeerLinksTest, DialsBothLanesOfItsNeighbours) {
    follow({info(kPeer)});
    ASSERT_EQ(dials().size(), 2U);
    EXPECT_EQ(dials()[0].peer, kPeer);
    EXPECT_EQ(dials()[0].address, "there:1");
    EXPECT_NE(dials()[0].lane, dials()[1].lane);
}

TEST_F(PeerLinksTest, GivesTheSmallerIdAStartAndThenDialsToo) {
    follow({info(kLower)});
    EXPECT_TRUE(dials().empty());
    EXPECT_EQ(links_.next_deadline(), kStart + 1s);
    up(kLower, Lane::Control);
    wake(kStart + 1s);
    ASSERT_EQ(dials().size(), 1U);
    EXPECT_EQ(dials()[0].lane, Lane::Bulk);
}

TEST_F(PeerLinksTest, DoesNotDialAPeerThatUsedItsStart) {
    follow({info(kLower)});
    link(kLower);
    EXPECT_EQ(links_.next_deadline(), swarm::kNever);
}

/// The other side's link comes up while the own dial is under way, so the own dial fails.
TEST_F(PeerLinksTest, ADialThatCrossesTheOtherSidesIsOver) {
    follow({info(kPeer)});
    EXPECT_FALSE(links_.on(node::LinkUp{kPeer, Lane::Control, {1}, false}, {kStart, out_}));
    fail(kPeer, Lane::Control);
    EXPECT_EQ(links_.next_deadline(), swarm::kNever) << "the bulk dial is under way";
    EXPECT_TRUE(links_.on(node::LinkUp{kPeer, Lane::Bulk, {1}, true}, {kStart, out_}));
    EXPECT_TRUE(links_.is_linked(kPeer));
}

TEST_F(PeerLinksTest, HasNeighboursInItsOwnAndInAdjacentStages) {
    context_.layout = swarm::run::partition(test::small_run(3))[0];
    follow({info(kPeer, 2), info(kOwn, 0, 2)});
    EXPECT_TRUE(dials().empty());
    follow({info(kPeer, 1), info(kOwn, 0, 2)});
    EXPECT_EQ(dials().size(), 2U);
}

TEST_F(PeerLinksTest, IsLinkedOnceBothLanesAreUp) {
    follow({info(kPeer)});
    EXPECT_FALSE(up(kPeer, Lane::Bulk));
    EXPECT_FALSE(links_.is_linked(kPeer));
    EXPECT_TRUE(up(kPeer, Lane::Control));
    EXPECT_TRUE(links_.is_linked(kPeer));
}

TEST_F(PeerLinksTest, KnowsALinkThatCameBeforeTheRoster) {
    link(kLower);
    EXPECT_FALSE(links_.is_linked(kLower));
    follow({info(kLower)});
    EXPECT_TRUE(links_.is_linked(kLower));
}

TEST_F(PeerLinksTest, RedialsWithPausesThatDouble) {
    follow({info(kPeer)});
    up(kPeer, Lane::Bulk);
    TimePoint now = kStart;
    for (const auto pause : {100ms, 200ms, 400ms, 800ms, 1600ms, 2000ms, 2000ms}) {
        fail(kPeer, Lane::Control, now);
        if (links_.next_deadline() == kStart + 5s) {
            wake(kStart + 5s);  // the peer is cut off now
        }
        ASSERT_EQ(links_.next_deadline(), now + pause);
        now += pause;
        wake(now);
        ASSERT_EQ(dials().size(), 1U);
        EXPECT_EQ(dials()[0].lane, Lane::Control);
    }
}

TEST_F(PeerLinksTest, APeerIsCutOffWhenNoDialHasLedToItForFiveSeconds) {
    using Level = node::LogLine::Level;
    follow({info(kPeer), info(kOwn, 1, 2)});
    up(kPeer, Lane::Bulk);
    fail(kPeer, Lane::Control, kStart + 3s);
    wake(kStart + 5s - 1ns);
    EXPECT_TRUE(take_lines().empty());
    EXPECT_TRUE(links_.cut_off().empty());
    wake(kStart + 5s);
    const auto warned = take_lines();
    ASSERT_EQ(warned.size(), 1U);
    EXPECT_EQ(warned[0].level, Level::Warning);
    EXPECT_EQ(
        warned[0].text,
        "peer aaaaaaaa, stage 1: no link for 5 s; this peer dials there:1 (nobody there), and the "
        "other has to dial there:1; one of the two needs a port that the other reaches: forward "
        "one, and name it with --advertise"
    );
    EXPECT_EQ(links_.cut_off(), (std::vector<SlotId>{{1}}));
    EXPECT_TRUE(links_.take_newly_cut_off());
    EXPECT_FALSE(links_.take_newly_cut_off());
    fail(kPeer, Lane::Control, kStart + 60s);
    EXPECT_TRUE(take_lines().empty());
    up(kPeer, Lane::Control);
    const auto reached = take_lines();
    ASSERT_EQ(reached.size(), 1U);
    EXPECT_EQ(reached[0].level, Level::Info);
    EXPECT_EQ(reached[0].text, "peer aaaaaaaa, stage 1: the link is there");
    EXPECT_TRUE(links_.cut_off().empty());
}

TEST_F(PeerLinksTest, SaysThatAPeerIsReachedWhoseLinksCameBeforeTheRoster) {
    follow({info(kPeer)});
    fail(kPeer, Lane::Control, kStart);
    fail(kPeer, Lane::Control, kStart + 5s);
    EXPECT_EQ(take_lines().size(), 1U);
    link(kPeer, 2);  // the peer has restarted
    EXPECT_TRUE(take_lines().empty());
    follow({info(kPeer, 1, 2, 2)}, kStart + 11s);
    EXPECT_EQ(take_lines().size(), 1U);
}

TEST_F(PeerLinksTest, APeerThatIsBackInFiveSecondsWasNotCutOff) {
    follow({info(kPeer)});
    fail(kPeer, Lane::Control, kStart);
    link(kPeer);
    down(kPeer, Lane::Control, kStart + 60s);
    fail(kPeer, Lane::Control, kStart + 60s);
    fail(kPeer, Lane::Control, kStart + 65s - 1ns);
    link(kPeer);
    EXPECT_TRUE(take_lines().empty());
    EXPECT_TRUE(links_.cut_off().empty());
}

TEST_F(PeerLinksTest, APeerThatNobodyHasDialledYetIsNotCutOff) {
    follow({info(kPeer)});  // the dial is under way
    wake(kStart + 60s);
    EXPECT_TRUE(links_.cut_off().empty());
}

TEST_F(PeerLinksTest, LosesAPeerThatIsNotBackInTwoSeconds) {
    follow({info(kLower)});
    link(kLower);
    down(kLower, Lane::Bulk, kStart + 1s);
    EXPECT_FALSE(links_.is_linked(kLower));
    ASSERT_EQ(links_.next_deadline(), kStart + 2050ms) << "the smaller id has a start of 1 s";
    wake(kStart + 2050ms);
    ASSERT_EQ(links_.next_deadline(), kStart + 3s);
    wake(kStart + 3s - 1ns);
    EXPECT_TRUE(links_.take_lost().empty());
    wake(kStart + 3s);
    EXPECT_EQ(links_.take_lost(), (std::vector<PeerId>{kLower}));
    EXPECT_TRUE(links_.take_lost().empty());
    EXPECT_EQ(links_.next_deadline(), swarm::kNever);
}

TEST_F(PeerLinksTest, KeepsAPeerThatIsBackInTime) {
    follow({info(kLower)});
    link(kLower);
    down(kLower, Lane::Bulk, kStart + 1s);
    EXPECT_TRUE(up(kLower, Lane::Bulk));
    wake(kStart + 9s);
    EXPECT_TRUE(links_.take_lost().empty());
}

TEST_F(PeerLinksTest, LosesAPeerAtOnceThatComesBackAsAnotherIncarnation) {
    follow({info(kLower)});
    link(kLower);
    down(kLower, Lane::Control);
    down(kLower, Lane::Bulk);
    EXPECT_FALSE(link(kLower, 2));
    EXPECT_EQ(links_.take_lost(), (std::vector<PeerId>{kLower}));
    EXPECT_FALSE(links_.is_linked(kLower));
}

TEST_F(PeerLinksTest, TakesTheLinksOfANewIncarnationOnceItsSlotIsKnown) {
    follow({info(kLower)});
    link(kLower);
    link(kLower, 2);
    EXPECT_EQ(follow({info(kLower, 1, 2, 2)}), (std::vector<SlotId>{{1}}));
    EXPECT_TRUE(links_.is_linked(kLower));
}

TEST_F(PeerLinksTest, RedialsWhereALinkOfAnotherIncarnationWasLost) {
    follow({info(kPeer)});
    link(kPeer);
    up(kPeer, Lane::Control, 7);
    down(kPeer, Lane::Control);
    EXPECT_EQ(links_.next_deadline(), kStart + 50ms);
    down(kPeer, Lane::Control, kStart + 10ms);
    EXPECT_EQ(links_.next_deadline(), kStart + 50ms) << "one redial is under way";
    wake(kStart + 50ms);
    ASSERT_EQ(dials().size(), 1U);
    EXPECT_EQ(dials()[0].lane, Lane::Control);
    down(kPeer, Lane::Control, kStart + 60ms);
    EXPECT_EQ(links_.next_deadline(), swarm::kNever) << "it is being dialled";
}

TEST_F(PeerLinksTest, IgnoresRosterChangesOfOtherStages) {
    context_.layout = swarm::run::partition(test::small_run(3))[0];
    follow({info(kPeer, 1, 1), info(kLower, 2, 2)});
    link(kPeer);
    EXPECT_TRUE(follow({info(kPeer, 1, 1)}).empty());
    EXPECT_TRUE(links_.is_linked(kPeer));
    EXPECT_TRUE(dials().empty());
}

TEST_F(PeerLinksTest, KeepsTheLinksOfAPeerWithANewSlot) {
    follow({info(kPeer)});
    link(kPeer);
    EXPECT_EQ(follow({info(kPeer, 1, 2)}), (std::vector<SlotId>{{1}}));
    EXPECT_TRUE(links_.is_linked(kPeer));
    EXPECT_TRUE(dials().empty());
}

TEST_F(PeerLinksTest, NamesTheSlotsThatAreGone) {
    follow({info(kPeer), info(kLower, 0, 2)});
    EXPECT_EQ(follow({info(kPeer)}), (std::vector<SlotId>{{2}}));
    EXPECT_FALSE(links_.is_linked(kLower));
}

TEST_F(PeerLinksTest, NeverDialsALaneTwiceAtOnce) {
    follow({info(kPeer)});
    ASSERT_EQ(dials().size(), 2U);
    follow({info(kPeer, 1, 2)});
    EXPECT_TRUE(dials().empty());
    follow({info(kPeer, 1, 3, 2)});  // restarted while the dial was under way
    EXPECT_TRUE(dials().empty());
    follow({});
    follow({info(kPeer, 1, 4, 2)});
    EXPECT_TRUE(dials().empty());
    fail(kPeer, Lane::Control);
    fail(kPeer, Lane::Bulk);
    wake(kStart + 2s);
    EXPECT_EQ(dials().size(), 2U);
}

TEST_F(PeerLinksTest, IgnoresEventsOfStrangers) {
    down(kPeer, Lane::Control);
    fail(kPeer, Lane::Control);
    EXPECT_EQ(links_.next_deadline(), swarm::kNever);
    EXPECT_FALSE(links_.is_linked(kPeer));
}

}  // namespace
}  // namespace stages
