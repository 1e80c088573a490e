#include "swarm/base/cpu_path.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string_view>

namespace swarm {
namespace {

TEST(CpuPath, TheBestIsTheWidestThatTheMachineRuns) {
    EXPECT_TRUE(has(CpuPath::Scalar));
    EXPECT_TRUE(has(best_cpu_path()));
    for (const CpuPath path : kCpuPaths) {
        EXPECT_TRUE(path <= best_cpu_path() || !has(path)) << to_text(path);
    }
}

TEST(CpuPath, EachHasANameOfItsOwn) {
    std::set<std::string_view> names;
    for (const CpuPath path : kCpuPaths) {
        names.insert(to_text(path));
    }
    EXPECT_EQ(names, (std::set<std::string_view>{"scalar", "avx2", "avx512"}));
}

}  // namespace
}  // namespace swarm
