#include "stacking/sessions/directory_link.hpp"

#include <gtest/gtest.h>

namespace stacking::sessions {
namespace {

using namespace std::chrono_literals;
using node::Lane;

constexpr PeerId kDirectory{{8}};
constexpr PeerId kStranger{{7}};
constexpr TimePoint kMoment{1s};

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
    EXPECT_EQ(dialed(link, kMoment), PeerId{});
    EXPECT_FALSE(link.on(node::LinkUp{kStranger, Lane::Control, {1}}, kMoment)
    );  // the stranger dialed
    EXPECT_TRUE(link.on(node::LinkUp{kDirectory, Lane::Control, {1}, true}, kMoment));
    EXPECT_EQ(link.peer(), kDirectory);
    EXPECT_FALSE(link.on(node::LinkUp{kStranger, Lane::Control, {1}, true}, kMoment));
}

TEST(DirectoryLink, AnUnnamedDirectoryMayBeReplacedAtItsAddress) {
    DirectoryLink link(PeerId{}, "directory.example:1");
    static_cast<void>(dialed(link, kMoment));
    link.on(node::LinkUp{kDirectory, Lane::Control, {1}, true}, kMoment);
    link.on(node::LinkDown{kDirectory, Lane::Control}, kMoment);
    EXPECT_EQ(dialed(link, kMoment + 1s), kDirectory);
    link.on(failed(kDirectory, swarm::ErrorCode::Unauthorised), kMoment + 1s);
    EXPECT_EQ(dialed(link, kMoment + 4s), PeerId{});
}

TEST(DirectoryLink, ANamedDirectoryIsNeverReplaced) {
    DirectoryLink link(kDirectory, "directory.example:1");
    EXPECT_EQ(dialed(link, kMoment), kDirectory);
    link.on(failed(kDirectory, swarm::ErrorCode::Unauthorised), kMoment);
    EXPECT_EQ(dialed(link, kMoment + 4s), kDirectory);
    EXPECT_FALSE(link.on(node::LinkUp{kStranger, Lane::Control, {1}, true}, kMoment + 4s));
}

TEST(DirectoryLink, BeatsSoonerWhileSomebodyWaits) {
    DirectoryLink link(kDirectory, "directory.example:1");
    link.on(node::LinkUp{kDirectory, Lane::Control, {1}, true}, kMoment);
    node::Outbox out;
    EXPECT_TRUE(link.wake({kMoment, out}));
    EXPECT_EQ(link.next_deadline(), kMoment + DirectoryLink::kBeatEvery);
    link.hurry();
    EXPECT_EQ(link.next_deadline(), kMoment + DirectoryLink::kHurriedBeatEvery);
    link.on(node::LinkDown{kDirectory, Lane::Control}, kMoment);
    const TimePoint redial = link.next_deadline();
    link.hurry();
    EXPECT_EQ(link.next_deadline(), redial);  // hurry() brings no dial forward
}

TEST(DirectoryLink, RemembersWhyItIsDown) {
    DirectoryLink link(PeerId{}, "directory.example:1");
    EXPECT_EQ(link.failure(), "");
    static_cast<void>(dialed(link, kMoment));
    link.on(failed(PeerId{}, swarm::ErrorCode::Unreachable), kMoment);
    EXPECT_EQ(link.failure(), "no answer");
    EXPECT_EQ(dialed(link, kMoment + DirectoryLink::kPauseFirst), std::nullopt);  // pauses double
    EXPECT_EQ(dialed(link, kMoment + 2 * DirectoryLink::kPauseFirst), PeerId{});
    link.on(node::LinkUp{kDirectory, Lane::Control, {1}, true}, kMoment + 1s);
    EXPECT_EQ(link.failure(), "");
}

}  // namespace
}  // namespace stacking::sessions
