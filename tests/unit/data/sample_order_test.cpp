#include "swarm/data/sample_order.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace swarm::data {
namespace {

std::vector<std::uint64_t> all_of(std::uint64_t size, std::uint64_t key) {
    const SampleOrder order(size, key);
    std::vector<std::uint64_t> values;
    for (std::uint64_t i = 0; i < size; ++i) {
        values.push_back(order(i));
    }
    return values;
}

void expect_bijection(std::uint64_t size, std::uint64_t key) {
    std::vector<bool> seen(size, false);
    for (const std::uint64_t value : all_of(size, key)) {
        ASSERT_LT(value, size) << size << ' ' << key;
        ASSERT_FALSE(seen[value]) << value << " comes twice; size " << size << ", key " << key;
        seen[value] = true;
    }
}

TEST(SampleOrder, EveryKeyGivesABijection) {
    for (std::uint64_t size = 1; size <= 300; ++size) {
        for (std::uint64_t epoch = 0; epoch < 5; ++epoch) {
            expect_bijection(size, order_key(17, 0, epoch));
        }
    }
    for (const std::uint64_t size : {1023U, 1024U, 1025U, 65'535U, 65'536U, 65'537U, 100'003U}) {
        for (std::uint64_t epoch = 0; epoch < 3; ++epoch) {
            expect_bijection(size, order_key(42, 1, epoch));
        }
    }
}

TEST(SampleOrder, IndicesOfHugeSizesStayInside) {
    const std::uint64_t size = (1ULL << 61) + 12'345;
    const SampleOrder order(size, 3);
    std::vector<std::uint64_t> values;
    for (std::uint64_t i = 0; i < 1000; ++i) {
        values.push_back(order(size - 1 - i));
        EXPECT_LT(values.back(), size);
    }
    std::sort(values.begin(), values.end());
    EXPECT_EQ(std::adjacent_find(values.begin(), values.end()), values.end());
}

TEST(SampleOrder, SeedStreamAndEpochChangeTheOrder) {
    const auto first = all_of(1000, order_key(1, 0, 0));
    EXPECT_EQ(first, all_of(1000, order_key(1, 0, 0)));
    for (const std::uint64_t key : {order_key(2, 0, 0), order_key(1, 1, 0), order_key(1, 0, 1)}) {
        const auto other = all_of(1000, key);
        std::size_t equal = 0;
        for (std::size_t i = 0; i < first.size(); ++i) {
            equal += first[i] == other[i] ? 1 : 0;
        }
        EXPECT_LT(equal, 12U);  // one is expected; more than 11 have a chance of 1e-9
    }
}

/// Each index must be about as often in each tenth of the order.
TEST(SampleOrder, SpreadsEveryIndex) {
    constexpr std::uint64_t kSize = 1000;
    constexpr int kKeys = 2000;
    for (const std::uint64_t index : {0U, 1U, 500U, 999U}) {
        std::vector<int> tenths(10, 0);
        for (int key = 0; key < kKeys; ++key) {
            const SampleOrder order(kSize, order_key(static_cast<std::uint64_t>(key), 0, 0));
            ++tenths[order(index) / (kSize / 10)];
        }
        for (const int count : tenths) {
            EXPECT_NEAR(count, kKeys / 10, 70) << index;  // five standard deviations
        }
    }
}

/// The order is a promise to runs that go on later: these values, which another program computed,
/// must never change.
TEST(SampleOrder, StaysTheSame) {
    EXPECT_EQ(order_key(7, 1, 2), 7957818202202933121U);
    EXPECT_EQ(
        all_of(10, order_key(7, 0, 0)), (std::vector<std::uint64_t>{5, 6, 9, 3, 2, 1, 4, 8, 7, 0})
    );
    EXPECT_EQ(all_of(1000, order_key(7, 0, 1))[4], 363U);
}

}  // namespace
}  // namespace swarm::data
