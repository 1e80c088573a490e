// Files of keys, and the requests per minute of each key.
#include "swarm/http/api_keys.hpp"

#include "tests/unit/net/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <sys/stat.h>

namespace swarm::http {
namespace {

using std::chrono::seconds;

const std::string kSecret = "0123456789abcdef0123456789abcdef";

class ApiKeysTest : public testing::Test {
 protected:
    Result<std::vector<ApiKey>> read(const std::string& text, mode_t mode = 0600) {
        const auto file = folder_.path() / "keys";
        std::ofstream(file) << text;
        EXPECT_EQ(::chmod(file.c_str(), mode), 0);
        return read_api_keys(file);
    }

    test::TemporaryFolder folder_;
};

TEST_F(ApiKeysTest, ReadsNamesLimitsAndSecrets) {
    const auto keys =
        read("# people\nalice 60 " + kSecret + "\n\n bob\t7  b" + kSecret + "  # b\n");
    ASSERT_TRUE(keys.has_value()) << keys.error().detail;
    ASSERT_EQ(keys->size(), 2U);
    EXPECT_EQ((*keys)[0].name, "alice");
    EXPECT_EQ((*keys)[0].requests_per_minute, 60);
    EXPECT_EQ((*keys)[0].secret_sha256, digest_of_secret(kSecret));
    EXPECT_EQ((*keys)[1].name, "bob");
    EXPECT_EQ((*keys)[1].requests_per_minute, 7);
}

TEST_F(ApiKeysTest, RefusesAFileThatOthersCanRead) {
    for (const mode_t mode : {0644, 0640, 0604}) {
        const auto keys = read("alice 60 " + kSecret + "\n", mode);
        ASSERT_FALSE(keys.has_value()) << mode;
        EXPECT_NE(keys.error().detail.find("chmod 600"), std::string::npos);
    }
    EXPECT_EQ(read_api_keys(folder_.path() / "none").error().code, ErrorCode::NotFound);
    EXPECT_FALSE(read_api_keys(folder_.path()).has_value());
}

TEST_F(ApiKeysTest, RefusesLinesThatMakeNoKey) {
    const std::string good = "alice 60 " + kSecret + "\n";
    for (const std::string& text : std::vector<std::string>{
             "",
             "# nothing\n",
             "alice " + kSecret + "\n",
             good + good,
             good + "bob 60 " + kSecret + "\n",
             "alice 0 " + kSecret + "\n",
             "alice 1000001 " + kSecret + "\n",
             "alice many " + kSecret + "\n",
             "al\"ice 60 " + kSecret + "\n",
             "alice 60 short\n",
             "alice 60 " + kSecret + " more\n",
             "alice 60 " + kSecret + "\xc3\xbc\n",
             std::string(65, 'a') + " 60 " + kSecret + "\n",
             std::string(300'000, '#')}) {
        const auto keys = read(text);
        ASSERT_FALSE(keys.has_value()) << text.substr(0, 100);
        EXPECT_EQ(keys.error().detail.find(kSecret), std::string::npos) << "it shows a secret";
    }
}

TEST(KeyRing, FindsAKeyByItsWholeSecret) {
    const KeyRing keys({{"a", digest_of_secret("one"), 1}, {"b", digest_of_secret("two"), 1}});
    EXPECT_EQ(keys.find("one"), 0U);
    EXPECT_EQ(keys.find("two"), 1U);
    EXPECT_EQ(keys.find("tw"), std::nullopt);
    EXPECT_EQ(keys.find(""), std::nullopt);
}

TEST(KeyRing, GivesRequestsBackOneByOne) {
    KeyRing keys({{"a", digest_of_secret("one"), 2}});
    const TimePoint start{seconds(1000)};
    EXPECT_EQ(keys.take(0, start), std::nullopt);
    EXPECT_EQ(keys.take(0, start), std::nullopt);
    EXPECT_EQ(keys.take(0, start), seconds(30));
    EXPECT_EQ(keys.take(0, start + seconds(10)), seconds(20));
    EXPECT_EQ(keys.take(0, start + seconds(31)), std::nullopt);
    EXPECT_EQ(keys.take(0, start + seconds(31)), seconds(29));
    EXPECT_EQ(keys.take(0, start + seconds(9999)), std::nullopt);
    EXPECT_EQ(keys.take(0, start + seconds(9999)), std::nullopt);
    EXPECT_NE(keys.take(0, start + seconds(9999)), std::nullopt) << "a minute's requests at most";
}

}  // namespace
}  // namespace swarm::http
