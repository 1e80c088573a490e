// A folder for the running test alone, which is removed with everything in it at the end.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <unistd.h>

namespace stages::test {

class ScratchFolder {
 public:
    ScratchFolder() {
        const testing::TestInfo& test = *testing::UnitTest::GetInstance()->current_test_info();
        path_ = std::filesystem::path(testing::TempDir()) /
                (std::string("swarm-") + test.test_suite_name() + "-" + test.name() + "-" +
                 std::to_string(::getpid()));
        std::filesystem::create_directories(path_);
    }

    ScratchFolder(const ScratchFolder&) = delete;
    ScratchFolder& operator=(const ScratchFolder&) = delete;

    ~ScratchFolder() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }

    [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
    std::filesystem::path path_;
};

}  // namespace stages::test
