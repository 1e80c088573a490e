// An empty folder for one test, which is deleted after the test. A test may have several.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <system_error>
#include <unistd.h>

namespace swarm::test {

class TemporaryFolder {
 public:
    TemporaryFolder() {
        std::filesystem::remove_all(path_);
        std::filesystem::create_directories(path_);
    }

    TemporaryFolder(const TemporaryFolder&) = delete;
    TemporaryFolder& operator=(const TemporaryFolder&) = delete;

    ~TemporaryFolder() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }

    [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
    std::filesystem::path path_ =
        std::filesystem::path(testing::TempDir()) /
        (std::string(testing::UnitTest::GetInstance()->current_test_info()->name()) + "-" +
         std::to_string(::getpid()) + "-" + std::to_string(++made_));
    inline static int made_ = 0;
};

}  // namespace swarm::test
