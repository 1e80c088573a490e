#include "stacking/sessions/client_quota.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace stacking::sessions {
namespace {

using namespace std::chrono_literals;
using swarm::PeerId;
using swarm::TimePoint;

constexpr TimePoint kNow{100s};

/// A server with so much room, at which clients ask for sessions.
class Room {
 public:
    explicit Room(std::uint64_t room) : room_(room) {}

    /// Returns false when there is no room, also after others gave way.
    bool ask(std::uint64_t client, std::uint64_t network, std::uint64_t room) {
        const Asker asker{{{client}}, network, ++sessions_, room};
        while (used() + room > room_) {
            const auto loser = choose_to_end(held_, asker, kNow);
            if (!loser) {
                return false;
            }
            held_.erase(held_.begin() + static_cast<std::ptrdiff_t>(*loser));
        }
        const TimePoint since = kNow - 1s + std::chrono::milliseconds(sessions_);
        held_.push_back({asker.client, network, sessions_, room, since, swarm::kNever});
        return true;
    }

    [[nodiscard]] std::uint64_t used() const {
        std::uint64_t sum = 0;
        for (const Holding& holding : held_) {
            sum += holding.room;
        }
        return sum;
    }

    [[nodiscard]] std::uint64_t used_by(std::uint64_t client) const {
        std::uint64_t sum = 0;
        for (const Holding& holding : held_) {
            sum += holding.client == PeerId{{client}} ? holding.room : 0;
        }
        return sum;
    }

    std::vector<Holding>& held() { return held_; }

 private:
    std::uint64_t room_;
    std::uint64_t sessions_ = 0;
    std::vector<Holding> held_;
};

TEST(ClientQuota, AClientAloneMayHaveAllRoom) {
    Room room(800);
    for (int i = 0; i < 80; ++i) {
        EXPECT_TRUE(room.ask(1, 1, 10));
    }
    EXPECT_FALSE(room.ask(1, 1, 10));
    EXPECT_EQ(room.used_by(1), 800U);
}

TEST(ClientQuota, OfEightClientsThatAskNoneKeepsMoreThanAnEighth) {
    for (const bool one_network : {false, true}) {
        Room room(800);
        while (room.ask(1, 1, 10)) {
        }
        for (std::uint64_t client = 2; client <= 8; ++client) {
            while (room.used_by(client) < 100 && room.ask(client, one_network ? 1 : client, 10)) {
            }
        }
        for (std::uint64_t client = 1; client <= 8; ++client) {
            EXPECT_EQ(room.used_by(client), 100U) << client << (one_network ? " beside" : " apart");
        }
        EXPECT_FALSE(room.ask(1, 1, 10));
    }
}

TEST(ClientQuota, ManyIdentitiesOfOneNetworkCountAsOne) {
    Room room(800);
    for (std::uint64_t identity = 100; room.ask(identity, 1, 10); ++identity) {
    }
    for (int i = 0; i < 40; ++i) {
        EXPECT_TRUE(room.ask(1, 2, 10)) << i;
    }
    EXPECT_FALSE(room.ask(1, 2, 10));
    EXPECT_EQ(room.used_by(1), 400U);
}

TEST(ClientQuota, TheOnlySessionOfAClientStays) {
    Room room(100);
    EXPECT_TRUE(room.ask(1, 1, 100));
    EXPECT_FALSE(room.ask(2, 2, 10));
    EXPECT_FALSE(room.ask(3, 1, 10));
}

TEST(ClientQuota, TheNewestSessionGivesWay) {
    Room room(100);
    for (int i = 0; i < 10; ++i) {
        EXPECT_TRUE(room.ask(1, 1, 10));
    }
    EXPECT_TRUE(room.ask(2, 2, 10));
    EXPECT_EQ(room.held()[8].session, 9U);  // the tenth is gone
    EXPECT_EQ(room.held()[9].client, (PeerId{{2}}));
}

TEST(ClientQuota, IdleSessionsGiveWayAndThoseOfGoneClientsBefore) {
    Room room(100);
    EXPECT_TRUE(room.ask(1, 1, 50));
    EXPECT_TRUE(room.ask(2, 2, 50));
    room.held()[0].idle_since = kNow - kIdleSessionKept + 1ms;
    EXPECT_FALSE(room.ask(3, 3, 50));
    room.held()[0].idle_since = kNow - kIdleSessionKept;
    room.held()[1].is_gone = true;
    EXPECT_TRUE(room.ask(3, 3, 50));
    EXPECT_EQ(room.used_by(2), 0U);
    EXPECT_TRUE(room.ask(4, 4, 50));
    EXPECT_EQ(room.used_by(1), 0U);
}

TEST(ClientQuota, ASessionWithoutRowsGivesWaySooner) {
    Room room(100);
    EXPECT_TRUE(room.ask(1, 1, 100));
    room.held()[0].is_empty = true;
    room.held()[0].idle_since = kNow - kEmptySessionKept + 1ms;
    EXPECT_FALSE(room.ask(2, 1, 10));
    room.held()[0].idle_since = kNow - kEmptySessionKept;
    EXPECT_TRUE(room.ask(2, 1, 10));
}

}  // namespace
}  // namespace stacking::sessions
