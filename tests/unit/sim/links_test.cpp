// Links of the world that come up and end.
#include "tests/unit/sim/recorder.hpp"

#include <gtest/gtest.h>

namespace sim::test {
namespace {

using namespace std::chrono_literals;
using Texts = std::vector<std::string>;

class WorldLinks : public testing::Test {
 protected:
    World world_{World::Options{}};
};

TEST_F(WorldLinks, ADialBringsOneLinkToBothSides) {
    const auto bert = add_recorder(world_, kBert, {});
    const auto anna = add_recorder(world_, kAnna, {{"Woke", node::Dial{kBert, {}, ""}}});
    world_.run_for(10s);
    EXPECT_EQ(anna->texts(), (Texts{"Woke", "LinkUp 2"}));
    EXPECT_EQ(bert->texts(), (Texts{"Woke", "LinkUp 1"}));
}

TEST_F(WorldLinks, AnAddressOfTheWorldWorksToo) {
    add_recorder(world_, kBert, {});
    const auto anna = add_recorder(world_, kAnna, {{"Woke", node::Dial{kBert, {}, "sim:2"}}});
    world_.run_for(1s);
    EXPECT_EQ(anna->count("LinkUp 2"), 1U);
}

TEST_F(WorldLinks, ADialOfAnybodyFindsThePeerAtTheAddress) {
    add_recorder(world_, kBert, {});
    const auto anna = add_recorder(world_, kAnna, {{"Woke", node::Dial{PeerId{}, {}, "sim:2"}}});
    world_.run_for(10s);
    EXPECT_EQ(anna->texts(), (Texts{"Woke", "LinkUp 2"}));
}

TEST_F(WorldLinks, ADialOfAnybodyThatFailsSaysSoOnce) {
    add_recorder(world_, kBert, {});
    world_.crash(kBert);
    const auto anna = add_recorder(
        world_,
        kAnna,
        {{"Woke", node::Dial{PeerId{}, {}, "sim:2"}},
         {"Woke", node::Dial{PeerId{}, Lane::Bulk, "not an address"}}}
    );
    world_.run_for(10s);
    EXPECT_EQ(anna->count("DialFailed 0"), 1U);
    EXPECT_EQ(anna->count("DialFailed 0 bulk"), 1U);
}

TEST_F(WorldLinks, TheLanesAreLinksOfTheirOwn) {
    const auto bert = add_recorder(world_, kBert, {});
    const auto anna = add_recorder(
        world_,
        kAnna,
        {{"Woke", node::Dial{kBert, Lane::Control, ""}},
         {"Woke", node::Dial{kBert, Lane::Bulk, ""}},
         {"LinkUp 2", node::Close{kBert, Lane::Control}}}
    );
    world_.run_for(10s);
    EXPECT_EQ(bert->count("LinkUp 1") + bert->count("LinkUp 1 bulk"), 2U);
    EXPECT_EQ(anna->count("LinkDown 2"), 1U);
    EXPECT_EQ(bert->count("LinkDown 1"), 1U);
    EXPECT_EQ(anna->count("LinkDown 2 bulk") + bert->count("LinkDown 1 bulk"), 0U);
}

TEST_F(WorldLinks, LinkUpCarriesTheIncarnationThatTheOtherRoleWasTold) {
    const auto bert = add_recorder(world_, kBert, {});
    const auto anna = add_recorder(
        world_,
        kAnna,
        {{"Woke", node::Dial{kBert, {}, ""}}, {"LinkDown 2", node::Dial{kBert, {}, ""}}}
    );
    world_.run_for(1s);
    world_.restart(kBert);
    world_.run_for(1s);
    ASSERT_EQ(bert->told.size(), 2U);
    EXPECT_NE(bert->told[0], bert->told[1]);
    EXPECT_EQ(anna->heard, bert->told);
    EXPECT_EQ(bert->heard, (std::vector{anna->told[0], anna->told[0]}));
}

TEST_F(WorldLinks, ANewLinkReplacesTheOldOne) {
    const auto bert = add_recorder(world_, kBert, {});
    const auto anna = add_recorder(
        world_,
        kAnna,
        {{"Woke", node::Dial{kBert, {}, ""}}, {"LinkUp 2", node::Dial{kBert, {}, ""}}}
    );
    world_.run_for(10s);
    EXPECT_EQ(anna->texts(), (Texts{"Woke", "LinkUp 2", "LinkDown 2", "LinkUp 2"}));
    EXPECT_EQ(bert->texts(), (Texts{"Woke", "LinkUp 1", "LinkDown 1", "LinkUp 1"}));
}

TEST_F(WorldLinks, ADialToADeadPeerFailsOnce) {
    add_recorder(world_, kBert, {});
    world_.crash(kBert);
    const auto anna = add_recorder(world_, kAnna, {{"Woke", node::Dial{kBert, {}, ""}}});
    world_.run_for(10s);
    EXPECT_EQ(anna->texts(), (Texts{"Woke", "DialFailed 2"}));
}

TEST_F(WorldLinks, ADialToNobodyFailsOnce) {
    const auto anna = add_recorder(world_, kAnna, {{"Woke", node::Dial{peer(9), {}, ""}}});
    world_.run_for(10s);
    EXPECT_EQ(anna->texts(), (Texts{"Woke", "DialFailed 9"}));
}

TEST_F(WorldLinks, ADialThatIsNotAnsweredFailsAfterTheTimeoutAndTheLateListenerHearsTheEnd) {
    const auto bert = add_recorder(world_, kBert, {});
    const auto anna = add_recorder(world_, kAnna, {{"Woke", node::Dial{kBert, {}, ""}}});
    world_.block(kAnna, kBert);
    world_.run_for(4s);
    EXPECT_EQ(anna->when("DialFailed 2"), TimePoint{} + 3s);
    world_.unblock(kAnna, kBert);
    world_.run_for(10s);
    EXPECT_EQ(anna->texts(), (Texts{"Woke", "DialFailed 2"}));
    EXPECT_EQ(bert->texts(), (Texts{"Woke", "LinkUp 1", "LinkDown 1"}));
}

TEST_F(WorldLinks, ACrashEndsTheLinksOfThePeer) {
    const auto bert = add_recorder(world_, kBert, {});
    const auto anna = add_recorder(world_, kAnna, {{"Woke", node::Dial{kBert, {}, ""}}});
    world_.run_for(1s);
    world_.crash(kBert);
    world_.run_for(1s);
    EXPECT_EQ(anna->count("LinkDown 2"), 1U);
    EXPECT_EQ(bert->count("LinkDown 1"), 0U);
    EXPECT_FALSE(world_.is_running(kBert));
    EXPECT_EQ(world_.role(kBert), nullptr);
}

}  // namespace
}  // namespace sim::test
