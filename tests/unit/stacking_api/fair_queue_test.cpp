#include "stacking/api/fair_queue.hpp"

#include <gtest/gtest.h>

namespace stacking::api {
namespace {

bool anybody(const std::string& /*user*/) {
    return true;
}

TEST(FairQueue, AUsersJobsComeInTheirOrder) {
    FairQueue queue;
    for (std::uint64_t job = 1; job <= 3; ++job) {
        queue.add("a", job, 10);
    }
    for (std::uint64_t job = 1; job <= 3; ++job) {
        EXPECT_EQ(queue.take(anybody), job);
    }
    EXPECT_EQ(queue.take(anybody), std::nullopt);
}

TEST(FairQueue, ANewcomerDoesNotWaitForAllThatAnotherUserAsked) {
    FairQueue queue;
    for (std::uint64_t job = 0; job < 100; ++job) {
        queue.add("flood", job, 10);
    }
    EXPECT_EQ(queue.take(anybody), 0U);
    EXPECT_EQ(queue.take(anybody), 1U);
    queue.add("guest", 1000, 10);
    EXPECT_EQ(queue.take(anybody), 1000U);
}

TEST(FairQueue, UsersGetTheSameNumberOfTokensAndNotOfJobs) {
    FairQueue queue;
    for (std::uint64_t job = 0; job < 200; ++job) {
        queue.add("long", job, 40);
        queue.add("short", 1000 + job, 10);
    }
    double longs = 0;
    double shorts = 0;
    for (int i = 0; i < 100; ++i) {
        (*queue.take(anybody) < 1000 ? longs : shorts) += 1;
        EXPECT_LE(std::abs(40 * longs - 10 * shorts), 40) << i;
    }
    EXPECT_EQ(shorts, 80);
}

TEST(FairQueue, GivesBackWhatWasNotUsed) {
    FairQueue queue;
    queue.add("a", 1, 1000);
    queue.add("a", 2, 10);
    queue.add("b", 3, 100);
    queue.add("b", 4, 100);
    EXPECT_EQ(queue.take(anybody), 1U);
    queue.give_back("a", 990);
    EXPECT_EQ(queue.take(anybody), 3U);
    EXPECT_EQ(queue.take(anybody), 2U) << "the user has had 10 tokens, and the other one 100";
    EXPECT_EQ(queue.take(anybody), 4U);
}

TEST(FairQueue, PassesOverThoseWhoMayNot) {
    FairQueue queue;
    queue.add("a", 1, 1);
    queue.add("b", 2, 1);
    const auto not_a = [](const std::string& user) { return user != "a"; };
    EXPECT_EQ(queue.take(not_a), 2U);
    EXPECT_EQ(queue.take(not_a), std::nullopt);
    EXPECT_EQ(queue.take(anybody), 1U);
}

TEST(FairQueue, AJobThatIsGivenUpIsNotTaken) {
    FairQueue queue;
    queue.add("a", 1, 1);
    queue.add("a", 2, 1);
    EXPECT_TRUE(queue.remove(1));
    EXPECT_FALSE(queue.remove(1));
    EXPECT_EQ(queue.size(), 1U);
    EXPECT_EQ(queue.take(anybody), 2U);
}

TEST(FairQueue, BoundsEachUserAndAll) {
    FairQueue queue;
    std::uint64_t job = 0;
    const std::size_t users = FairQueue::kWaitingMax / FairQueue::kWaitingPerUserMax;
    for (std::size_t user = 0; user < users; ++user) {
        const std::string name = std::to_string(user);
        ASSERT_EQ(queue.room(name, FairQueue::kWaitingPerUserMax), FairQueue::Room::Yes);
        ASSERT_EQ(queue.room(name, FairQueue::kWaitingPerUserMax + 1), FairQueue::Room::UserIsFull);
        for (std::size_t i = 0; i < FairQueue::kWaitingPerUserMax; ++i) {
            queue.add(name, ++job, 1);
        }
        ASSERT_EQ(queue.room(name, 1), FairQueue::Room::UserIsFull);
    }
    EXPECT_EQ(queue.room("another", 1), FairQueue::Room::Full);
}

}  // namespace
}  // namespace stacking::api
