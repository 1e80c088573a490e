#include "swarm/base/idle_memory.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace swarm {
namespace {

constexpr std::uint64_t kMiB = 1U << 20;

/// Notes these numbers of free MiB, and returns a + for each look that gives memory back.
std::string orders(IdleMemory& memory, const std::vector<std::uint64_t>& free_mib) {
    std::string orders;
    for (const std::uint64_t mib : free_mib) {
        orders += memory.note(mib * kMiB) ? '+' : '-';
    }
    return orders;
}

TEST(IdleMemory, GivesBackWhatStaysFree) {
    IdleMemory memory;
    EXPECT_EQ(orders(memory, {50, 50, 50, 50}), "---+");
    EXPECT_EQ(orders(memory, {50, 50, 50, 50, 50, 50}), "------") << "it was given back before";
}

TEST(IdleMemory, GivesBackAgainWhatWasUsedAgain) {
    IdleMemory memory;
    EXPECT_EQ(orders(memory, {50, 50, 50, 50}), "---+");
    EXPECT_EQ(orders(memory, {10, 20, 50, 50, 50}), "----+");
    EXPECT_EQ(orders(memory, {60, 60, 60, 60}), "---+") << "memory that was in use until now";
}

TEST(IdleMemory, KeepsWhatIsUsedNowAndThen) {
    IdleMemory memory;
    EXPECT_EQ(orders(memory, {50, 0, 50, 50, 50, 0, 50, 50, 50, 0}), "----------");
}

TEST(IdleMemory, LooksLongerWhereItIsTold) {
    IdleMemory memory(6);
    EXPECT_EQ(orders(memory, {50, 0, 50, 50, 50, 50, 50, 50}), "-------+");
}

TEST(IdleMemory, KeepsWhatIsNotWorthAWalk) {
    IdleMemory memory;
    EXPECT_EQ(orders(memory, {0, 0, 0, 0, 0}), "-----");
    EXPECT_FALSE(memory.note(kMiB - 1));
    EXPECT_FALSE(memory.note(kMiB - 1));
    EXPECT_FALSE(memory.note(kMiB - 1));
    EXPECT_FALSE(memory.note(kMiB - 1));
}

}  // namespace
}  // namespace swarm
