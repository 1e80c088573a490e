#include "swarm/net/file_store.hpp"

#include "tests/unit/net/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

namespace swarm::net {
namespace {

namespace fs = std::filesystem;
using Records = std::vector<std::string>;

class FileStoreTest : public testing::Test {
 protected:
    FileStore open() {
        Result<FileStore> store = FileStore::open(folder_.path() / "disk");
        EXPECT_TRUE(store.has_value()) << store.error().detail;
        return std::move(*store);
    }

    void write_records(const Records& records) {
        FileStore store = open();
        EXPECT_TRUE(store.append(records).has_value());
        EXPECT_TRUE(store.sync().has_value());
    }

    fs::path log() const { return folder_.path() / "disk" / "journal.log"; }

    static std::string text_of(const fs::path& path) {
        std::ifstream file(path, std::ios::binary);
        return {std::istreambuf_iterator<char>(file), {}};
    }

    static std::span<const std::byte> bytes_of(const std::string& text) {
        return std::as_bytes(std::span(text));
    }

    test::TemporaryFolder folder_;
};

TEST(NoFileStore, NeedsNoFolderAndKeepsNothing) {
    FileStore store = FileStore::none();
    const Records records{"one"};
    EXPECT_FALSE(store.append(records).has_value());
    EXPECT_FALSE(store.load().has_value());
    EXPECT_FALSE(store.write_file("a", {}).has_value());
    EXPECT_TRUE(store.sync().has_value()) << "nothing waits to be synced";
}

TEST_F(FileStoreTest, StartsEmpty) {
    EXPECT_EQ(*open().load(), Records{});
}

TEST_F(FileStoreTest, ReturnsRecordsOfAnyBytesInOrder) {
    const Records records{"one", "", std::string("a\0b\nc", 5), std::string(100'000, 'x')};
    write_records(records);
    EXPECT_EQ(*open().load(), records);
}

TEST_F(FileStoreTest, AppendsAfterTheRecordsOfAnEarlierStart) {
    write_records({"one"});
    write_records({"two", "three"});
    EXPECT_EQ(*open().load(), (Records{"one", "two", "three"}));
}

TEST_F(FileStoreTest, CutsATornTailWhereverItWasTorn) {
    write_records({"one", "two"});
    const auto whole = fs::file_size(log());
    write_records({"three"});
    const std::string all = text_of(log());
    for (auto size = whole; size < all.size(); ++size) {
        fs::resize_file(log(), size);
        const FileStore store = open();
        EXPECT_EQ(*store.load(), (Records{"one", "two"})) << size;
        EXPECT_EQ(store.torn_bytes(), size - whole) << size;
        EXPECT_EQ(fs::file_size(log()), whole) << size;
        std::ofstream(log(), std::ios::binary) << all;
    }
}

TEST_F(FileStoreTest, CutsATailOfZerosOrOfWrongBytes) {
    write_records({"one", "two"});
    std::ofstream(log(), std::ios::binary | std::ios::app) << std::string(64, '\0');
    EXPECT_EQ(*open().load(), (Records{"one", "two"}));
    std::string damaged = text_of(log());
    damaged.back() = '?';
    std::ofstream(log(), std::ios::binary) << damaged;
    EXPECT_EQ(*open().load(), Records{"one"});
}

TEST_F(FileStoreTest, GoesOnAfterATornTail) {
    write_records({"one"});
    std::ofstream(log(), std::ios::binary | std::ios::app) << "torn";
    write_records({"two"});
    EXPECT_EQ(*open().load(), (Records{"one", "two"}));
}

TEST_F(FileStoreTest, RefusesAFileThatIsNoLog) {
    fs::create_directories(log().parent_path());
    std::ofstream(log()) << "something else";
    EXPECT_FALSE(FileStore::open(log().parent_path()).has_value());
    EXPECT_EQ(text_of(log()), "something else");
}

TEST_F(FileStoreTest, RefusesASecondUserOfTheFolder) {
    const FileStore first = open();
    const auto second = FileStore::open(folder_.path() / "disk");
    ASSERT_FALSE(second.has_value());
    EXPECT_EQ(second.error().code, ErrorCode::Usage);
    EXPECT_NE(second.error().detail.find("in use"), std::string::npos);
}

TEST_F(FileStoreTest, WritesWholeFilesAndLeavesNoDraft) {
    FileStore store = open();
    const std::string left = "left ";
    const std::string right = "right";
    const std::vector<std::span<const std::byte>> parts{bytes_of(left), bytes_of(right)};
    ASSERT_TRUE(store.write_file("step-1/stage-0.bin", parts).has_value());
    const fs::path path = folder_.path() / "disk" / "step-1" / "stage-0.bin";
    EXPECT_EQ(text_of(path), "left right");
    EXPECT_EQ(std::distance(fs::directory_iterator(path.parent_path()), {}), 1);
}

TEST_F(FileStoreTest, SaysThatTheDiskIsFullAndLeavesNoDraft) {
    FileStore store = open();
    const fs::path draft = folder_.path() / "disk" / "file.draft";
    fs::create_symlink("/dev/full", draft);
    const std::string text = "more than there is room for";
    const std::vector parts{bytes_of(text)};
    const Result<> written = store.write_file("file", parts);
    ASSERT_FALSE(written);
    EXPECT_EQ(written.error().code, ErrorCode::StorageFailed);
    EXPECT_NE(written.error().detail.find("No space left on device; make room"), std::string::npos)
        << written.error().detail;
    EXPECT_FALSE(fs::exists(fs::symlink_status(draft)));
}

TEST_F(FileStoreTest, ReplacesAFile) {
    FileStore store = open();
    for (const std::string text : {"a long first text", "second"}) {
        const std::vector<std::span<const std::byte>> parts{bytes_of(text)};
        ASSERT_TRUE(store.write_file("state", parts).has_value());
        EXPECT_EQ(text_of(folder_.path() / "disk" / "state"), text);
    }
}

TEST_F(FileStoreTest, RefusesNamesOutsideItsFolderAndItsOwnFiles) {
    FileStore store = open();
    for (const char* name :
         {"", "/etc/x", "../x", "a/../../x", "journal.log", "lock", "a/", "./a"}) {
        EXPECT_FALSE(store.write_file(name, {}).has_value()) << name;
    }
}

}  // namespace
}  // namespace swarm::net
