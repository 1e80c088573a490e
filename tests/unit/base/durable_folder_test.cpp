#include "swarm/base/durable_folder.hpp"

#include "tests/unit/net/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

namespace swarm {
namespace {

namespace fs = std::filesystem;

std::ptrdiff_t count_entries(const fs::path& folder) {
    return std::distance(fs::directory_iterator(folder), {});
}

void write_into(const fs::path& folder, const std::string& text) {
    ASSERT_TRUE(write_durably(folder / "file", std::as_bytes(std::span(text))).has_value());
}

TEST(DurableFolder, IsThereOnlyWhenItIsWhole) {
    const test::TemporaryFolder scratch;
    const fs::path folder = scratch.path() / "new" / "folder";
    {
        auto begun = DurableFolder::begin(folder);
        ASSERT_TRUE(begun.has_value()) << begun.error().detail;
        write_into(begun->draft(), "half");
        EXPECT_FALSE(fs::exists(folder));
    }
    EXPECT_EQ(count_entries(scratch.path() / "new"), 0) << "what is not finished leaves nothing";
    auto begun = DurableFolder::begin(folder.string() + "/");
    ASSERT_TRUE(begun.has_value()) << begun.error().detail;
    write_into(begun->draft(), "whole");
    ASSERT_TRUE(begun->finish().has_value());
    EXPECT_TRUE(fs::exists(folder / "file"));
    EXPECT_EQ(count_entries(scratch.path() / "new"), 1);
}

TEST(DurableFolder, TakesThePlaceOfAnEmptyFolderAlone) {
    const test::TemporaryFolder scratch;
    const fs::path folder = scratch.path() / "folder";
    fs::create_directory(folder);
    fs::create_directory_symlink(folder, scratch.path() / "link");
    {
        auto begun = DurableFolder::begin(scratch.path() / "link");
        ASSERT_TRUE(begun.has_value()) << begun.error().detail;
        write_into(begun->draft(), "first");
        ASSERT_TRUE(begun->finish().has_value());
    }
    EXPECT_TRUE(fs::exists(folder / "file"));
    EXPECT_TRUE(fs::is_symlink(scratch.path() / "link"));
    const auto full = DurableFolder::begin(folder);
    ASSERT_TRUE(full.has_error());
    EXPECT_EQ(full.error().code, ErrorCode::Usage);
    EXPECT_EQ(full.error().detail, folder.string() + " has files; name another folder");
    EXPECT_EQ(
        check_free(folder / "file").error().detail,
        (folder / "file").string() + " is a file; name another folder"
    );
    EXPECT_EQ(count_entries(scratch.path()), 2);
}

TEST(DurableFolder, FilesThatCameMeanwhileStay) {
    const test::TemporaryFolder scratch;
    const fs::path folder = scratch.path() / "folder";
    {
        auto begun = DurableFolder::begin(folder);
        ASSERT_TRUE(begun.has_value()) << begun.error().detail;
        write_into(begun->draft(), "ours");
        fs::create_directory(folder);
        std::ofstream(folder / "theirs") << "theirs";
        const auto finished = begun->finish();
        ASSERT_TRUE(finished.has_error());
        EXPECT_EQ(finished.error().code, ErrorCode::Usage);
    }
    EXPECT_EQ(count_entries(scratch.path()), 1);
    EXPECT_EQ(count_entries(folder), 1);
}

TEST(DurableFolder, OneProcessAtATimeWritesIt) {
    const test::TemporaryFolder scratch;
    const fs::path folder = scratch.path() / "folder";
    const auto first = DurableFolder::begin(folder);
    ASSERT_TRUE(first.has_value()) << first.error().detail;
    write_into(first->draft(), "first");
    const auto second = DurableFolder::begin(folder);
    ASSERT_TRUE(second.has_error());
    EXPECT_NE(second.error().detail.find("another process"), std::string::npos);
    EXPECT_TRUE(fs::exists(first->draft() / "file")) << "the refusal took nothing away";
}

TEST(DurableFolder, TheDraftOfAKilledProcessGoes) {
    const test::TemporaryFolder scratch;
    const fs::path left = scratch.path() / ".folder.draft";
    fs::create_directories(left / "deep");
    std::ofstream(left / "old") << "old";
    auto begun = DurableFolder::begin(scratch.path() / "folder");
    ASSERT_TRUE(begun.has_value()) << begun.error().detail;
    EXPECT_EQ(begun->draft().filename(), left.filename());
    EXPECT_EQ(count_entries(left), 0);
    ASSERT_TRUE(begun->finish().has_value());
    EXPECT_EQ(count_entries(scratch.path() / "folder"), 0);
}

TEST(DurableFolder, APlaceThatCannotBeWrittenIsOneLine) {
    const auto begun = DurableFolder::begin("/dev/null/folder", "choose another folder");
    ASSERT_TRUE(begun.has_error());
    EXPECT_EQ(begun.error().code, ErrorCode::StorageFailed);
    EXPECT_NE(begun.error().detail.find("/dev/null"), std::string::npos) << begun.error().detail;
    EXPECT_TRUE(DurableFolder::begin("/").has_error()) << "it has files";
}

}  // namespace
}  // namespace swarm
