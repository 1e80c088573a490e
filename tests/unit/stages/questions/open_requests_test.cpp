#include "stages/server/open_requests.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace stages {
namespace {

using namespace std::chrono_literals;
using swarm::PeerId;
using swarm::TimePoint;

constexpr PeerId kAsker{{60}};
constexpr PeerId kAbove{{70}};
constexpr PeerId kOther{{80}};
constexpr TimePoint kStart{5s};

using Numbers = std::vector<std::uint64_t>;

TEST(OpenRequests, GivesEachRequestANumberOfItsOwn) {
    OpenRequests requests(2);
    const std::uint64_t first = requests.open({kAsker, 9, kAbove}, kStart);
    const std::uint64_t second = requests.open({kOther, 9, {}}, kStart);
    ASSERT_NE(first, second);
    ASSERT_NE(requests.find(first), nullptr);
    EXPECT_EQ(requests.find(first)->from, kAsker);
    EXPECT_EQ(requests.find(second)->from, kOther);
    EXPECT_EQ(requests.find(second)->number, 9U);
    EXPECT_EQ(requests.find(second + 1), nullptr);
}

TEST(OpenRequests, ClosesARequestOnceAndNeverGivesItsNumberAgain) {
    OpenRequests requests(1);
    const std::uint64_t own = requests.open({kAsker, 9, kAbove}, kStart);
    const auto closed = requests.close(own);
    ASSERT_TRUE(closed);
    EXPECT_EQ(closed->from, kAsker);
    EXPECT_EQ(closed->number, 9U);
    EXPECT_EQ(closed->next, kAbove);
    EXPECT_FALSE(requests.close(own));
    EXPECT_EQ(requests.find(own), nullptr);
    EXPECT_NE(requests.open({kAsker, 9, kAbove}, kStart), own);
}

TEST(OpenRequests, IsFullAtItsBound) {
    OpenRequests requests(2);
    const std::uint64_t first = requests.open({kAsker, 1, {}}, kStart);
    EXPECT_FALSE(requests.is_full());
    requests.open({kAsker, 2, {}}, kStart);
    EXPECT_TRUE(requests.is_full());
    requests.close(first);
    EXPECT_FALSE(requests.is_full());
}

TEST(OpenRequests, FindsWhatWasPassedToAPeerInOrder) {
    OpenRequests requests(4);
    const std::uint64_t first = requests.open({kAsker, 1, kAbove}, kStart);
    requests.open({kAsker, 2, kOther}, kStart);
    requests.open({kAsker, 3, {}}, kStart);
    const std::uint64_t last = requests.open({kAsker, 4, kAbove}, kStart);
    EXPECT_EQ(requests.passed_to(kAbove), (Numbers{first, last}));
    EXPECT_TRUE(requests.passed_to(kAsker).empty());
}

TEST(OpenRequests, FindsWhatIsOverdueInOrder) {
    OpenRequests requests(3);
    const std::uint64_t first = requests.open({kAsker, 1, kAbove}, kStart);
    const std::uint64_t second = requests.open({kAsker, 2, kAbove}, kStart + 1s);
    requests.open({kAsker, 3, kAbove}, kStart + 2s);
    EXPECT_TRUE(requests.overdue(kStart + 30s - 1ns).empty());
    EXPECT_EQ(requests.overdue(kStart + 30s), (Numbers{first}));
    EXPECT_EQ(requests.overdue(kStart + 31s), (Numbers{first, second}));
}

TEST(OpenRequests, HasTheDeadlineOfItsOldestRequest) {
    OpenRequests requests(2);
    EXPECT_EQ(requests.next_deadline(), swarm::kNever);
    const std::uint64_t first = requests.open({kAsker, 1, kAbove}, kStart);
    requests.open({kAsker, 2, kAbove}, kStart + 1s);
    EXPECT_EQ(requests.next_deadline(), kStart + 30s);
    requests.close(first);
    EXPECT_EQ(requests.next_deadline(), kStart + 31s);
}

}  // namespace
}  // namespace stages
