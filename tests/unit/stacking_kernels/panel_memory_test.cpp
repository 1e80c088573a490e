#include "stacking/kernels/panel_memory.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <sys/mman.h>
#include <utility>
#include <vector>

namespace stacking::kernels {
namespace {

constexpr std::size_t kMiB = 1U << 20;
constexpr std::size_t kPageBytes = 4096;

bool is_mapped(std::byte* at) {
    auto* const page = at - reinterpret_cast<std::uintptr_t>(at) % kPageBytes;
    return ::msync(page, kPageBytes, MS_ASYNC) == 0 || errno != ENOMEM;
}

TEST(PanelMemory, EachPartIsAlignedAndApartFromTheOthers) {
    std::vector<std::pair<PanelMemory, std::size_t>> parts;
    for (const std::size_t bytes :
         {std::size_t{1},
          std::size_t{100},
          64 * 1024 - 64 + std::size_t{1},
          20 * kMiB + 1,
          std::size_t{70'000},
          20 * kMiB,
          40 * kMiB,
          32 * kMiB,
          kMiB}) {
        parts.emplace_back(allocate_panels(bytes), bytes);
        auto* const begin = parts.back().first.get();
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(begin) % 64, 0U) << bytes;
        std::memset(begin, static_cast<int>(parts.size()), bytes);
    }
    for (std::size_t i = 0; i < parts.size(); ++i) {
        const auto& [memory, bytes] = parts[i];
        const auto value = static_cast<std::byte>(i + 1);
        EXPECT_EQ(std::count(memory.get(), memory.get() + bytes, value), bytes) << bytes;
    }
}

TEST(PanelMemory, WhatMatricesShareGoesBackWithTheLast) {
    const auto own_mapping = allocate_panels(33 * kMiB);  // leaves the shared one as it is
    auto first = allocate_panels(31 * kMiB);
    auto second = allocate_panels(31 * kMiB);  // no room for both
    auto third = allocate_panels(kMiB);        // beside the second
    std::byte* const places[] = {first.get(), second.get(), third.get()};
    EXPECT_EQ(places[2], places[1] + 31 * kMiB);
    first.reset();
    EXPECT_FALSE(is_mapped(places[0]));
    second.reset();
    EXPECT_TRUE(is_mapped(places[1]));
    third.reset();
    EXPECT_FALSE(is_mapped(places[2]));
    EXPECT_NE(allocate_panels(kMiB), nullptr);  // a new mapping
}

}  // namespace
}  // namespace stacking::kernels
