#include "swarm/cli/common/swarm_key.hpp"

#include "swarm/net/tls.hpp"
#include "tests/unit/net/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace swarm::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSecret = "0123456789abcdef0123456789abcdef";

class SwarmKey : public testing::Test {
 protected:
    std::string write(const std::string& text, fs::perms perms = fs::perms::owner_read) const {
        std::ofstream(file()) << text;
        fs::permissions(file(), perms | fs::perms::owner_write);
        return file();
    }

    [[nodiscard]] std::string file() const { return folder_.path() / "key"; }

    swarm::test::TemporaryFolder folder_;
};

std::string hex(const std::string& bytes) {
    std::string text;
    for (const char byte : bytes) {
        constexpr const char* kDigits = "0123456789abcdef";
        const auto value = static_cast<unsigned char>(byte);
        text += {kDigits[value >> 4U], kDigits[value & 0xfU]};
    }
    return text;
}

/// The key was computed with another implementation of scrypt.
TEST_F(SwarmKey, IsTheStretchedSecretWithoutTheLineEnd) {
    const auto key = read_swarm_key(write(std::string(kSecret) + " \n"));
    ASSERT_TRUE(key.has_value()) << key.error().detail;
    EXPECT_EQ(hex(*key), "43628f0ce4b2d1a07638f5ced703d05e362df3bdf941f28eafcce04c20d91854");
    EXPECT_EQ(*read_swarm_key(""), "");
}

TEST_F(SwarmKey, ThatCanBeGuessedIsRefused) {
    for (const char* text : {"", " \n", "austen42\n", "0123456789abcdef01234\n"}) {
        const auto key = read_swarm_key(write(text));
        ASSERT_FALSE(key.has_value()) << text;
        EXPECT_NE(key.error().detail.find("swarm key new"), std::string::npos);
    }
    EXPECT_TRUE(read_swarm_key(write("0123456789abcdef012345\n")).has_value());
}

TEST_F(SwarmKey, ThatOthersCanReadOrChangeIsRefused) {
    for (const fs::perms open :
         {fs::perms::group_read, fs::perms::others_read, fs::perms::group_write}) {
        const auto key = read_swarm_key(write(kSecret, open | fs::perms::owner_read));
        ASSERT_FALSE(key.has_value());
        EXPECT_NE(key.error().detail.find("chmod 600 " + file()), std::string::npos);
    }
}

TEST_F(SwarmKey, ThatIsNotThereIsAnError) {
    EXPECT_EQ(read_swarm_key("/nowhere").error().code, ErrorCode::NotFound);
}

TEST_F(SwarmKey, ANewOneIsForThisUserAloneAndNeverTheSame) {
    ASSERT_TRUE(write_new_swarm_key(file()));
    EXPECT_EQ(fs::status(file()).permissions(), fs::perms::owner_read | fs::perms::owner_write);
    EXPECT_TRUE(read_swarm_key(file()).has_value());
    std::ifstream in(file());
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    EXPECT_EQ(text.size(), 33U);
    EXPECT_NE(text, net::new_swarm_key() + "\n");
    const Result<> again = write_new_swarm_key(file());
    ASSERT_FALSE(again.has_value());
    EXPECT_NE(again.error().detail.find("is there already"), std::string::npos);
}

}  // namespace
}  // namespace swarm::cli
