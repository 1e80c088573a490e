#include "swarm/base/durable_file.hpp"

#include "tests/unit/net/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <sys/stat.h>
#include <unistd.h>

namespace swarm {
namespace {

namespace fs = std::filesystem;

std::span<const std::byte> bytes_of(const std::string& text) {
    return std::as_bytes(std::span(text));
}

std::string text_of(const fs::path& file) {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

std::ptrdiff_t count_files(const fs::path& folder) {
    return std::distance(fs::directory_iterator(folder), {});
}

/// /dev/null is a file, whoever asks.
TEST(MakeFolder, TellsTheReasonOfTheFolder) {
    const auto made = make_folder("/dev/null/runs/mine");
    ASSERT_FALSE(made.has_value());
    EXPECT_EQ(
        made.error().detail,
        "cannot write /dev/null/runs/mine: Not a directory; a part of the path is a file: name "
        "another place"
    );
    EXPECT_TRUE(make_folder("").has_value());
    EXPECT_TRUE(make_folder_of("run.toml").has_value());
    EXPECT_TRUE(make_folder("/tmp").has_value());
}

TEST(MakeFolder, MakesEveryLevel) {
    const test::TemporaryFolder scratch;
    const fs::path deep = scratch.path() / "a" / "b" / "c";
    ASSERT_TRUE(make_folder(deep).has_value());
    EXPECT_TRUE(fs::is_directory(deep));
    EXPECT_TRUE(make_folder(deep / "..").has_value());
    EXPECT_TRUE(make_folder(fs::path(deep) += "/").has_value());
}

TEST(DurableFile, IsThereOnlyWhenItIsWhole) {
    const test::TemporaryFolder scratch;
    const fs::path file = scratch.path() / "new" / "file";
    {
        auto begun = DurableFile::begin(file);
        ASSERT_TRUE(begun.has_value()) << begun.error().detail;
        ASSERT_TRUE(begun->write(bytes_of("half")).has_value());
        EXPECT_FALSE(fs::exists(file));
    }
    EXPECT_EQ(count_files(file.parent_path()), 0) << "what is not finished leaves nothing";
    ASSERT_TRUE(write_durably(file, bytes_of("a long first text")).has_value());
    ASSERT_TRUE(write_durably(file, bytes_of("second")).has_value());
    EXPECT_EQ(text_of(file), "second");
    EXPECT_EQ(count_files(file.parent_path()), 1);
}

TEST(DurableFile, LeavesWhatWasThereWhenItCannotBeWritten) {
    const test::TemporaryFolder scratch;
    const fs::path file = scratch.path() / "file";
    ASSERT_TRUE(write_durably(file, bytes_of("first")).has_value());
    fs::create_symlink("/dev/full", scratch.path() / "file.draft");
    const auto written = write_durably(file, bytes_of("second"), "choose another folder");
    ASSERT_FALSE(written.has_value());
    EXPECT_EQ(
        written.error().detail,
        "cannot write " + file.string() +
            ": No space left on device; make room there, or choose another folder"
    );
    EXPECT_EQ(text_of(file), "first");
    EXPECT_EQ(count_files(scratch.path()), 1);
}

TEST(CreateSecretDurably, IsForItsOwnerAloneAndStays) {
    const test::TemporaryFolder scratch;
    const fs::path file = scratch.path() / "key";
    const auto made = create_secret_durably(file, bytes_of("mine"), "name another file");
    ASSERT_TRUE(made.has_value()) << made.error().detail;
    EXPECT_TRUE(*made);

    struct stat about {};

    ASSERT_EQ(::stat(file.c_str(), &about), 0);
    EXPECT_EQ(about.st_mode & 0777U, 0600U);
    const auto again = create_secret_durably(file, bytes_of("other"), "name another file");
    ASSERT_TRUE(again.has_value());
    EXPECT_FALSE(*again);
    EXPECT_EQ(text_of(file), "mine");
    EXPECT_EQ(count_files(scratch.path()), 1);
}

TEST(MoveDurably, MovesAFileIntoANewFolder) {
    const test::TemporaryFolder scratch;
    ASSERT_TRUE(write_durably(scratch.path() / "from", bytes_of("text")).has_value());
    const fs::path to = scratch.path() / "models" / "to";
    ASSERT_TRUE(move_durably(scratch.path() / "from", to).has_value());
    EXPECT_EQ(text_of(to), "text");
    EXPECT_FALSE(move_durably(scratch.path() / "from", to).has_value()) << "it is gone";
}

}  // namespace
}  // namespace swarm
