#include "swarm/base/file_map.hpp"

#include "swarm/base/durable_file.hpp"
#include "tests/unit/net/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <string>
#include <sys/mman.h>

namespace swarm {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kBytes = 100'000;  // several pages, and a part of one

fs::path write_file(const fs::path& path) {
    std::ofstream(path, std::ios::binary) << std::string(kBytes, 'x');
    return path;
}

std::unique_ptr<FileMap> map(const fs::path& path) {
    const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    return FileMap::open(file.get(), kBytes);
}

bool is_all(std::span<const std::byte> bytes, std::byte value) {
    return std::all_of(bytes.begin(), bytes.end(), [value](std::byte byte) {
        return byte == value;
    });
}

TEST(FileMap, HasTheBytesOfTheFile) {
    const test::TemporaryFolder folder;
    const auto file = map(write_file(folder.path() / "file"));
    ASSERT_NE(file, nullptr);
    ASSERT_EQ(file->bytes().size(), kBytes);
    file->fetch(1, 2 * kBytes);
    EXPECT_TRUE(is_all(file->bytes(), std::byte{'x'}));
    file->forget(1, 2 * kBytes);
    EXPECT_TRUE(is_all(file->bytes(), std::byte{'x'})) << "pages that were given back come again";
    EXPECT_TRUE(file->is_whole());
}

TEST(FileMap, WhatAFileLostIsZerosAndIsTold) {
    const test::TemporaryFolder folder;
    const fs::path path = write_file(folder.path() / "file");
    const auto other = map(write_file(folder.path() / "other"));
    const auto file = map(path);
    ASSERT_TRUE(file != nullptr && other != nullptr);
    fs::resize_file(path, kBytes / 2);
    EXPECT_TRUE(file->is_whole()) << "nobody has read what is lost";
    const auto lost = file->bytes().last(kBytes / 4);
    EXPECT_TRUE(is_all(lost, std::byte{0}));
    EXPECT_FALSE(file->is_whole());
    EXPECT_TRUE(is_all(file->bytes().first(kBytes / 2), std::byte{'x'}));
    file->forget(0, kBytes);
    EXPECT_TRUE(is_all(lost, std::byte{0}));
    EXPECT_TRUE(is_all(other->bytes(), std::byte{'x'}));
    EXPECT_TRUE(other->is_whole()) << "a map that was damaged before, or is another one";
}

TEST(FileMap, APlaceIsWholeAgainForTheNextMap) {
    const test::TemporaryFolder folder;
    const fs::path path = write_file(folder.path() / "file");
    for (int round = 0; round < 3; ++round) {
        write_file(path);
        const auto file = map(path);
        ASSERT_NE(file, nullptr);
        EXPECT_TRUE(file->is_whole());
        fs::resize_file(path, 0);
        EXPECT_EQ(file->bytes().front(), std::byte{0});
        EXPECT_FALSE(file->is_whole());
    }
}

TEST(FileMap, AnEmptyFileIsNotMapped) {
    const test::TemporaryFolder folder;
    const fs::path path = write_file(folder.path() / "file");
    const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    EXPECT_EQ(FileMap::open(file.get(), 0), nullptr);
    EXPECT_EQ(FileMap::open(-1, 1), nullptr);
}

void read_lost_bytes_of_another_map(const fs::path& path) {
    const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    void* const start = ::mmap(nullptr, kBytes, PROT_READ, MAP_SHARED, file.get(), 0);
    fs::resize_file(path, 0);
    const char read = *static_cast<const volatile char*>(start);
    static_cast<void>(read);
}

/// The signal ends it, or a sanitizer that handles the signal first, by an exit code.
bool is_bad_end(int status) {
    return !testing::ExitedWithCode(0)(status);
}

TEST(FileMapDeathTest, OtherBusErrorsEndTheProcess) {
    const test::TemporaryFolder folder;
    const auto file = map(write_file(folder.path() / "file"));
    ASSERT_NE(file, nullptr);
    const fs::path other = write_file(folder.path() / "other");
    EXPECT_EXIT(read_lost_bytes_of_another_map(other), is_bad_end, "");
    EXPECT_EXIT(::raise(SIGBUS), is_bad_end, "");
}

}  // namespace
}  // namespace swarm
