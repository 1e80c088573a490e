#include "stacking/head_links.hpp"

#include "tests/unit/stacking/script.hpp"

#include <gtest/gtest.h>

namespace stacking {
namespace {

using namespace test;
using node::Lane;
using protocol::Standing;

class HeadLinksTest : public testing::Test {
 protected:
    Actions follow(std::vector<protocol::SlotInfo> slots, TimePoint now = kStart) {
        Actions actions;
        swarm::run::Roster roster(2);
        roster.replace({1, std::move(slots)});
        links_.follow(roster, actions.at(now));
        return actions;
    }

    template <class Event>
    Actions on(const Event& event, TimePoint now = kStart) {
        Actions actions;
        links_.on(event, actions.at(now));
        return actions;
    }

    Actions wake(TimePoint now) {
        Actions actions;
        links_.wake(actions.at(now));
        return actions;
    }

    void link(PeerId peer, TimePoint now = kStart) {
        on(node::LinkUp{peer, Lane::Control, {1}}, now);
        on(node::LinkUp{peer, Lane::Bulk, {1}}, now);
    }

    HeadLinks links_;
};

TEST_F(HeadLinksTest, DialsBothLanesOfFirstStageMembersOnly) {
    const auto dials =
        follow({member(kFirst), member(kSecond, 1), member({{13}}, 0, Standing::Observer)})
            .all<node::Dial>();
    ASSERT_EQ(dials.size(), 2U);
    EXPECT_EQ(dials[0].peer, kFirst);
    EXPECT_EQ(dials[1].peer, kFirst);
    EXPECT_EQ(dials[0].address, "host11:7117");
}

TEST_F(HeadLinksTest, PicksNobodyBeforeBothLanesAreUp) {
    follow({member(kFirst)});
    on(node::LinkUp{kFirst, Lane::Bulk, {1}});
    EXPECT_FALSE(links_.pick(kStart));
    on(node::LinkUp{kFirst, Lane::Control, {1}});
    EXPECT_EQ(links_.pick(kStart), kFirst);
}

TEST_F(HeadLinksTest, PicksMembersInRotation) {
    follow({member(kFirst), member(kSecond)});
    link(kFirst);
    link(kSecond);
    const auto one = links_.pick(kStart);
    const auto other = links_.pick(kStart);
    EXPECT_NE(one, other);
    EXPECT_EQ(links_.pick(kStart), one);
}

TEST_F(HeadLinksTest, PicksNoSuspectOrDrainingMember) {
    follow({member(kFirst, 0, Standing::Suspect), member(kSecond, 0, Standing::Draining)});
    link(kFirst);
    link(kSecond);
    EXPECT_FALSE(links_.pick(kStart));
}

TEST_F(HeadLinksTest, LetsARefusingMemberRestLongerEachTime) {
    follow({member(kFirst)});
    link(kFirst);
    links_.rest(kFirst, kStart);
    EXPECT_FALSE(links_.pick(kStart + 99ms));
    EXPECT_EQ(links_.next_deadline(), kStart + 100ms);
    EXPECT_EQ(links_.pick(kStart + 100ms), kFirst);
    links_.rest(kFirst, kStart + 100ms);
    EXPECT_FALSE(links_.pick(kStart + 299ms));
    EXPECT_EQ(links_.pick(kStart + 300ms), kFirst);
}

TEST_F(HeadLinksTest, ForgetsOldRefusalsAfterASuccess) {
    follow({member(kFirst)});
    link(kFirst);
    links_.rest(kFirst, kStart);
    links_.rest(kFirst, kStart);
    links_.succeeded(kFirst);
    EXPECT_EQ(links_.pick(kStart), kFirst);
    links_.rest(kFirst, kStart);
    EXPECT_EQ(links_.pick(kStart + 100ms), kFirst);
}

TEST_F(HeadLinksTest, HasNoDeadlineInThePastAfterAWake) {
    follow({member(kFirst)});
    link(kFirst);
    links_.rest(kFirst, kStart);
    wake(kStart + 100ms);
    EXPECT_EQ(links_.next_deadline(), swarm::kNever);
}

TEST_F(HeadLinksTest, RedialsALostLaneAlone) {
    follow({member(kFirst)});
    link(kFirst);
    on(node::LinkDown{kFirst, Lane::Bulk});
    EXPECT_FALSE(links_.pick(kStart));
    ASSERT_EQ(links_.next_deadline(), kStart + 100ms);
    const auto dials = wake(kStart + 100ms).all<node::Dial>();
    ASSERT_EQ(dials.size(), 1U);
    EXPECT_EQ(dials[0].lane, Lane::Bulk);
}

TEST_F(HeadLinksTest, NeverDialsALaneTwiceAtOnce) {
    follow({member(kFirst)});
    EXPECT_TRUE(follow({}).all<node::Dial>().empty());
    EXPECT_TRUE(follow({member(kFirst)}).all<node::Dial>().empty());
    EXPECT_TRUE(wake(kStart + 60s).all<node::Dial>().empty());
    on(node::DialFailed{kFirst, Lane::Control, trouble()}, kStart + 60s);
    const auto dials = wake(kStart + 61s).all<node::Dial>();
    ASSERT_EQ(dials.size(), 1U);
    EXPECT_EQ(dials[0].lane, Lane::Control);
}

TEST_F(HeadLinksTest, ClosesTheLinksOfAMemberThatLeft) {
    follow({member(kFirst), member(kSecond)});
    link(kFirst);
    const auto closed = follow({member(kSecond)}).all<node::Close>();
    EXPECT_EQ(closed.size(), 2U);
    on(node::LinkDown{kFirst, Lane::Control});
    on(node::LinkDown{kFirst, Lane::Bulk});
    EXPECT_TRUE(wake(kStart + 60s).all<node::Dial>().empty());
}

TEST_F(HeadLinksTest, KeepsABoundedNumberOfMembersAndReplacesUnreachableOnes) {
    std::vector<protocol::SlotInfo> slots;
    for (std::uint64_t i = 0; i <= HeadLinks::kHeadsMax; ++i) {
        slots.push_back(member({{100 + i}}));
    }
    const auto dials = follow(slots).all<node::Dial>();
    ASSERT_EQ(dials.size(), 2 * HeadLinks::kHeadsMax);
    EXPECT_EQ(links_.next_deadline(), swarm::kNever);
    on(node::DialFailed{PeerId{{100}}, Lane::Control, trouble()});
    const auto instead =
        on(node::DialFailed{PeerId{{100}}, Lane::Bulk, trouble()}).all<node::Dial>();
    ASSERT_EQ(instead.size(), 2U);
    EXPECT_EQ(instead[0].peer, (PeerId{{100 + HeadLinks::kHeadsMax}}));
}

TEST_F(HeadLinksTest, ClosesLinksThatNobodyAskedFor) {
    EXPECT_EQ(on(node::LinkUp{kFirst, Lane::Control, {1}}).all<node::Close>().size(), 1U);
}

}  // namespace
}  // namespace stacking
