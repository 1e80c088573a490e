#include "stacking/sessions/directory_link.hpp"

#include <gtest/gtest.h>

namespace stacking::sessions {
namespace {

using namespace std::chrono_literals;
using node::Lane;

constexpr PeerId kDirectory{{8}};
constexpr PeerId kStranger{{7}};
constexpr TimePoint kNow{1s};

node::DialFailed failed(PeerId peer, swarm::ErrorCode code) {
    return {peer, Lane::Control, {code, swarm::Reaction::Retry, "no answer"}};
}

/// Returns the peer that the link dials at `now`, if any.
std::optional<PeerId> dialed(DirectoryLink& link, TimePoint now) {
    node::Outbox out;
    static_cast<void>(link.wake({now, out}));
    if (out.actions.empty()) {
        return std::nullopt;
    }
    return std::get<node::Dial>(out.actions.at(0)).peer;
}

TEST(DirectoryLink, ThePeerThatAnswersTheFirstDialIsTheDirectory) {
    DirectoryLink link(PeerId{}, "directory.example:1");
    EXPECT_EQ(dialed(link, kNow), PeerId{});
    EXPECT_FALSE(link.on(node::LinkUp{kStranger, Lane::Control, {1}}, kNow)
    );  // the stranger dialed
    EXPECT_TRUE(link.on(node::LinkUp{kDirectory, Lane::Control, {1}, true}, kNow));
    EXPECT_EQ(link.peer(), kDirectory);
    EXPECT_FALSE(link.on(node::LinkUp{kStranger, Lane::Control, {1}, true}, kNow));
}

TEST(DirectoryLink, AnUnnamedDirectoryMayBeReplacedAtItsAddress) {
    DirectoryLink link(PeerId{}, "directory.example:1");
    static_cast<void>(dialed(link, kNow));
    link.on(node::LinkUp{kDirectory, Lane::Control, {1}, true}, kNow);
    link.on(node::LinkDown{kDirectory, Lane::Control}, kNow);
    EXPECT_EQ(dialed(link, kNow + 1s), kDirectory);
    link.on(failed(kDirectory, swarm::ErrorCode::Unauthorised), kNow + 1s);
    EXPECT_EQ(dialed(link, kNow + 4s), PeerId{});
}

TEST(DirectoryLink, ANamedDirectoryIsNeverReplaced) {
    DirectoryLink link(kDirectory, "directory.example:1");
    EXPECT_EQ(dialed(link, kNow), kDirectory);
    link.on(failed(kDirectory, swarm::ErrorCode::Unauthorised), kNow);
    EXPECT_EQ(dialed(link, kNow + 4s), kDirectory);
    EXPECT_FALSE(link.on(node::LinkUp{kStranger, Lane::Control, {1}, true}, kNow + 4s));
}

TEST(DirectoryLink, BeatsSoonerWhileSomebodyWaits) {
    DirectoryLink link(kDirectory, "directory.example:1");
    link.on(node::LinkUp{kDirectory, Lane::Control, {1}, true}, kNow);
    node::Outbox out;
    EXPECT_TRUE(link.wake({kNow, out}));
    EXPECT_EQ(link.next_deadline(), kNow + DirectoryLink::kBeatEvery);
    link.hurry();
    EXPECT_EQ(link.next_deadline(), kNow + DirectoryLink::kHurriedBeatEvery);
    link.on(node::LinkDown{kDirectory, Lane::Control}, kNow);
    const TimePoint redial = link.next_deadline();
    link.hurry();
    EXPECT_EQ(link.next_deadline(), redial);  // hurry() brings no dial forward
}

TEST(DirectoryLink, RemembersWhyItIsDown) {
    DirectoryLink link(PeerId{}, "directory.example:1");
    EXPECT_EQ(link.failure(), "");
    static_cast<void>(dialed(link, kNow));
    link.on(failed(PeerId{}, swarm::ErrorCode::Unreachable), kNow);
    EXPECT_EQ(link.failure(), "no answer");
    EXPECT_EQ(dialed(link, kNow + DirectoryLink::kPauseFirst), std::nullopt);  // pauses double
    EXPECT_EQ(dialed(link, kNow + 2 * DirectoryLink::kPauseFirst), PeerId{});
    link.on(node::LinkUp{kDirectory, Lane::Control, {1}, true}, kNow + 1s);
    EXPECT_EQ(link.failure(), "");
}

}  // namespace
}  // namespace stacking::sessions
