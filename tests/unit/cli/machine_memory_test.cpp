#include "swarm/cli/compute/machine_memory.hpp"

#include "tests/unit/net/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <sys/resource.h>

namespace swarm::cli {
namespace {

namespace fs = std::filesystem;

class MemoryOfGroup : public testing::Test {
 protected:
    void write(const fs::path& group, const std::string& text) {
        fs::create_directories(root_.path() / group);
        std::ofstream(root_.path() / group / "memory.max") << text << "\n";
    }

    std::optional<std::uint64_t> of(const fs::path& group) {
        return memory_of_group(root_.path(), group, "memory.max");
    }

    swarm::test::TemporaryFolder root_;
};

TEST_F(MemoryOfGroup, TheTightestAboveItCounts) {
    EXPECT_EQ(of("/a/b"), std::nullopt);
    write("a", "1000");
    write("a/b", "max");
    EXPECT_EQ(of("/a/b"), 1000U);
    write("a/b", "2000");
    EXPECT_EQ(of("/a/b"), 1000U);
    write("a/b", "500");
    EXPECT_EQ(of("/a/b"), 500U);
    EXPECT_EQ(of("/a"), 1000U);
}

// A sanitizer has more address space than any bound allows, so nothing may be allocated meanwhile.
TEST(MachineMemory, IsBoundByUlimit) {
    const std::uint64_t whole = machine_memory_bytes();
    EXPECT_GT(whole, 64ULL << 20);
    EXPECT_LE(whole, memory_of_ulimit());
    for (const auto resource : {RLIMIT_DATA, RLIMIT_AS}) {
        rlimit before{};
        ASSERT_EQ(::getrlimit(resource, &before), 0);
        rlimit less = before;
        less.rlim_cur = whole - 1;
        const int narrowed = ::setrlimit(resource, &less);
        const std::uint64_t bound = memory_of_ulimit();
        const int widened = ::setrlimit(resource, &before);
        EXPECT_EQ(narrowed, 0);
        EXPECT_EQ(widened, 0);
        EXPECT_EQ(bound, whole - 1);
    }
}

}  // namespace
}  // namespace swarm::cli
