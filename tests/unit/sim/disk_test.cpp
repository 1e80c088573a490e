#include "sim/disk.hpp"

#include <gtest/gtest.h>

#include <set>

namespace sim {
namespace {

using Records = std::vector<std::string>;

TEST(Disk, AWriteIsDurableOnceSyncedThroughItsTicket) {
    Disk disk;
    disk.append("one");
    const Disk::Ticket second = disk.append("two");
    disk.append("three");
    disk.sync_through(second);
    EXPECT_EQ(disk.records(), (Records{"one", "two"}));
}

TEST(Disk, TheProcessReadsItsOwnUnsyncedRecords) {
    Disk disk;
    disk.sync_through(disk.append("one"));
    disk.append("two");
    EXPECT_EQ(disk.all_records(), (Records{"one", "two"}));
}

TEST(Disk, ACrashKeepsAPrefixOfTheUnsyncedRecordsEveryLengthOfIt) {
    std::set<std::size_t> lengths;
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
        swarm::Rng rng(seed, 0);
        Disk disk;
        disk.sync_through(disk.append("0"));
        disk.append("1");
        disk.append("2");
        disk.crash(rng);
        lengths.insert(disk.records().size());
        for (std::size_t i = 0; i < disk.records().size(); ++i) {
            EXPECT_EQ(disk.records()[i], std::to_string(i)) << "seed " << seed;
        }
    }
    EXPECT_EQ(lengths, (std::set<std::size_t>{1, 2, 3}));
}

TEST(Disk, TicketsGoOnAfterACrash) {
    swarm::Rng rng(1, 0);
    Disk disk;
    disk.append("lost or not");
    disk.crash(rng);
    const std::size_t kept = disk.records().size();
    disk.sync_through(disk.append("after"));
    EXPECT_EQ(disk.records().size(), kept + 1);
    EXPECT_EQ(disk.records().back(), "after");
}

TEST(Disk, AFileIsThereWholeOrAsItWasBefore) {
    const std::vector<std::byte> old_bytes(3, std::byte{1});
    const std::vector<std::byte> new_bytes(5, std::byte{2});
    std::set<std::size_t> sizes;
    for (std::uint64_t seed = 0; seed < 50; ++seed) {
        swarm::Rng rng(seed, 0);
        Disk disk;
        disk.sync_through(disk.write_file("a/b", old_bytes));
        disk.write_file("a/b", new_bytes);
        disk.crash(rng);
        const std::vector<std::byte>& found = disk.files().at("a/b");
        EXPECT_TRUE(found == old_bytes || found == new_bytes) << "seed " << seed;
        sizes.insert(found.size());
    }
    EXPECT_EQ(sizes.size(), 2U);
}

}  // namespace
}  // namespace sim
