#include "stages/server/open_requests.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace stages {
namespace {

using namespace std::chrono_literals;
using swarm::PeerId;
using swarm::TimePoint;

constexpr PeerId kAsker{{60}};
constexpr PeerId kNext{{70}};
constexpr PeerId kOther{{80}};
constexpr TimePoint kOpened{5s};

using Numbers = std::vector<std::uint64_t>;

TEST(OpenRequests, GivesEachRequestANumberOfItsOwn) {
    OpenRequests requests(2);
    const std::uint64_t first = requests.open({kAsker, 9, kNext}, kOpened);
    const std::uint64_t second = requests.open({kOther, 9, {}}, kOpened);
    ASSERT_NE(first, second);
    ASSERT_NE(requests.find(first), nullptr);
    EXPECT_EQ(requests.find(first)->from, kAsker);
    EXPECT_EQ(requests.find(second)->from, kOther);
    EXPECT_EQ(requests.find(second)->number, 9U);
    EXPECT_EQ(requests.find(second + 1), nullptr);
}

TEST(OpenRequests, ClosesARequestOnceAndNeverGivesItsNumberAgain) {
    OpenRequests requests(1);
    const std::uint64_t own = requests.open({kAsker, 9, kNext}, kOpened);
    const auto closed = requests.close(own);
    ASSERT_TRUE(closed);
    EXPECT_EQ(closed->from, kAsker);
    EXPECT_EQ(closed->number, 9U);
    EXPECT_EQ(closed->next, kNext);
    EXPECT_FALSE(requests.close(own));
    EXPECT_EQ(requests.find(own), nullptr);
    EXPECT_NE(requests.open({kAsker, 9, kNext}, kOpened), own);
}

TEST(OpenRequests, IsFullAtItsBound) {
    OpenRequests requests(2);
    const std::uint64_t first = requests.open({kAsker, 1, {}}, kOpened);
    EXPECT_FALSE(requests.is_full());
    requests.open({kAsker, 2, {}}, kOpened);
    EXPECT_TRUE(requests.is_full());
    requests.close(first);
    EXPECT_FALSE(requests.is_full());
}

TEST(OpenRequests, FindsWhatWasPassedToAPeerInOrder) {
    OpenRequests requests(4);
    const std::uint64_t first = requests.open({kAsker, 1, kNext}, kOpened);
    requests.open({kAsker, 2, kOther}, kOpened);
    requests.open({kAsker, 3, {}}, kOpened);
    const std::uint64_t last = requests.open({kAsker, 4, kNext}, kOpened);
    EXPECT_EQ(requests.passed_to(kNext), (Numbers{first, last}));
    EXPECT_TRUE(requests.passed_to(kAsker).empty());
}

TEST(OpenRequests, FindsWhatIsOverdueInOrder) {
    OpenRequests requests(3);
    const std::uint64_t first = requests.open({kAsker, 1, kNext}, kOpened);
    const std::uint64_t second = requests.open({kAsker, 2, kNext}, kOpened + 1s);
    requests.open({kAsker, 3, kNext}, kOpened + 2s);
    EXPECT_TRUE(requests.overdue(kOpened + 30s - 1ns).empty());
    EXPECT_EQ(requests.overdue(kOpened + 30s), (Numbers{first}));
    EXPECT_EQ(requests.overdue(kOpened + 31s), (Numbers{first, second}));
}

TEST(OpenRequests, HasTheDeadlineOfItsOldestRequest) {
    OpenRequests requests(2);
    EXPECT_EQ(requests.next_deadline(), swarm::kNever);
    const std::uint64_t first = requests.open({kAsker, 1, kNext}, kOpened);
    requests.open({kAsker, 2, kNext}, kOpened + 1s);
    EXPECT_EQ(requests.next_deadline(), kOpened + 30s);
    requests.close(first);
    EXPECT_EQ(requests.next_deadline(), kOpened + 31s);
}

}  // namespace
}  // namespace stages
