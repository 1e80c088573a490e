#include "stacking/models/byte_source.hpp"

#include "tests/unit/stages/scratch_folder.hpp"

#include <gtest/gtest.h>

#include <array>
#include <fstream>

namespace stacking::models {
namespace {

using swarm::ErrorCode;

TEST(ByteSource, ReadsRangesOfAFile) {
    const stages::test::ScratchFolder folder;
    const auto path = folder.path() / "text";
    std::ofstream(path) << "0123456789";
    const auto file = open_file(path);
    ASSERT_TRUE(file.has_value()) << file.error().detail;
    EXPECT_EQ((*file)->size(), 10U);
    std::array<std::byte, 3> bytes{};
    ASSERT_TRUE((*file)->read(7, bytes).has_value());
    EXPECT_EQ(bytes[2], std::byte{'9'});
    EXPECT_EQ((*file)->read(8, bytes).error().code, ErrorCode::Malformed);
    EXPECT_EQ((*file)->read(~0ULL, bytes).error().code, ErrorCode::Malformed);
}

TEST(ByteSource, AFileThatShrinksIsAnError) {
    const stages::test::ScratchFolder folder;
    const auto path = folder.path() / "text";
    std::ofstream(path) << "0123456789";
    const auto file = open_file(path);
    std::filesystem::resize_file(path, 4);
    std::array<std::byte, 10> bytes{};
    EXPECT_EQ((*file)->read(0, bytes).error().code, ErrorCode::StorageFailed);
}

TEST(ByteSource, OnlyPlainFilesAreOpened) {
    const stages::test::ScratchFolder folder;
    EXPECT_EQ(open_file(folder.path()).error().code, ErrorCode::NotFound);
    EXPECT_EQ(open_file(folder.path() / "missing").error().code, ErrorCode::NotFound);
    EXPECT_EQ(open_file("/dev/zero").error().code, ErrorCode::NotFound);
}

TEST(ByteSource, TextHasABound) {
    const stages::test::ScratchFolder folder;
    const auto path = folder.path() / "text";
    std::ofstream(path) << "0123456789";
    EXPECT_EQ(*read_text(path, 10), "0123456789");
    EXPECT_EQ(read_text(path, 9).error().code, ErrorCode::TooLarge);
}

}  // namespace
}  // namespace stacking::models
