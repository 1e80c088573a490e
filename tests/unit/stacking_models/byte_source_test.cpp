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

TEST(ByteSource, AViewHasTheBytesInTheirPlace) {
    const stages::test::ScratchFolder folder;
    const auto path = folder.path() / "text";
    std::ofstream(path) << "0123456789";
    const auto file = open_file(path);
    ASSERT_TRUE(file.has_value()) << file.error().detail;
    std::vector<std::byte> room;
    const auto bytes = (*file)->view(7, 3, room);
    ASSERT_TRUE(bytes.has_value()) << bytes.error().detail;
    EXPECT_EQ(bytes->back(), std::byte{'9'});
    EXPECT_TRUE(room.empty()) << "a file is mapped";
    EXPECT_EQ((*file)->view(8, 3, room).error().code, ErrorCode::Malformed);
    EXPECT_EQ((*file)->view(~0ULL, 3, room).error().code, ErrorCode::Malformed);
    EXPECT_EQ((*file)->view(0, ~0ULL, room).error().code, ErrorCode::Malformed);
    EXPECT_TRUE((*file)->check_views().has_value());
}

TEST(ByteSource, AViewOfAFileThatShrankIsNotTrusted) {
    const stages::test::ScratchFolder folder;
    const auto path = folder.path() / "text";
    std::ofstream(path) << std::string(10'000, 'x');
    const auto file = open_file(path);
    std::vector<std::byte> room;
    const auto bytes = (*file)->view(9'000, 1'000, room);
    ASSERT_TRUE(bytes.has_value()) << bytes.error().detail;
    std::filesystem::resize_file(path, 0);
    EXPECT_EQ(bytes->front(), std::byte{0});
    EXPECT_EQ((*file)->check_views().error().code, ErrorCode::StorageFailed);
}

/// A source that has its bytes elsewhere, and says that it has more than there are.
class LyingBytes final : public ByteSource {
 public:
    [[nodiscard]] std::uint64_t size() const override { return 1'000; }

    [[nodiscard]] swarm::Result<> read(std::uint64_t offset, std::span<std::byte> bytes)
        const override {
        return MemoryBytes(std::vector<std::byte>(10)).read(offset, bytes);
    }
};

TEST(ByteSource, WithoutAMapAViewIsRead) {
    const LyingBytes source;
    std::vector<std::byte> room;
    const auto bytes = source.view(2, 8, room);
    ASSERT_TRUE(bytes.has_value()) << bytes.error().detail;
    EXPECT_EQ(bytes->data(), room.data());
    EXPECT_EQ(source.view(2, 9, room).error().code, ErrorCode::Malformed);
    // More than memory has: it is refused before there is room for it.
    EXPECT_EQ(source.view(0, 1ULL << 60, room).error().code, ErrorCode::Malformed);
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
