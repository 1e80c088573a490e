#include "swarm/base/trace_hash.hpp"

#include <gtest/gtest.h>

#include <initializer_list>

namespace swarm {

namespace {

std::uint64_t hash_of(std::initializer_list<std::uint64_t> words) {
    TraceHash hash;
    for (const std::uint64_t word : words) {
        hash.add(word);
    }
    return hash.value();
}

}  // namespace

TEST(TraceHash, IsTheSameForTheSameWords) {
    EXPECT_EQ(hash_of({1, 2, 3}), hash_of({1, 2, 3}));
}

TEST(TraceHash, TellsOrderLengthAndZerosApart) {
    EXPECT_NE(hash_of({1, 2}), hash_of({2, 1}));
    EXPECT_NE(hash_of({1}), hash_of({1, 0}));
    EXPECT_NE(hash_of({0}), hash_of({0, 0}));
    EXPECT_NE(hash_of({}), hash_of({0}));
}

}  // namespace swarm
