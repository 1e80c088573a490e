#include "swarm/net/identity.hpp"

#include "swarm/base/digest.hpp"
#include "swarm/base/peer_name.hpp"
#include "tests/unit/net/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <sys/stat.h>

namespace swarm::net {
namespace {

using test::TemporaryFolder;

TEST(Identity, IsTheSameWhenTheKeyFileIsReadAgain) {
    const TemporaryFolder folder;
    const auto first = Identity::load_or_create(folder.path() / "key.pem");
    const auto second = Identity::load_or_create(folder.path() / "key.pem");
    ASSERT_TRUE(first && second);
    EXPECT_EQ(first->peer(), second->peer());
}

TEST(Identity, KeepsTheKeyFromOtherUsers) {
    const TemporaryFolder folder;
    ASSERT_TRUE(Identity::load_or_create(folder.path() / "key.pem").has_value());

    struct stat status {};

    ASSERT_EQ(::stat((folder.path() / "key.pem").c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777U, 0600U);
}

TEST(Identity, RefusesAKeyFileThatOthersMayRead) {
    const TemporaryFolder folder;
    ASSERT_TRUE(Identity::load_or_create(folder.path() / "key.pem").has_value());
    ::chmod((folder.path() / "key.pem").c_str(), 0644);
    const auto refused = Identity::load_or_create(folder.path() / "key.pem");
    ASSERT_FALSE(refused.has_value());
    EXPECT_NE(refused.error().detail.find("chmod 600"), std::string::npos);
}

TEST(Identity, RefusesAFileThatHoldsNoKey) {
    const TemporaryFolder folder;
    std::ofstream(folder.path() / "key.pem") << "not a key";
    ::chmod((folder.path() / "key.pem").c_str(), 0600);
    EXPECT_FALSE(Identity::load_or_create(folder.path() / "key.pem").has_value());
}

TEST(Identity, SaysWhyTheKeyFileCannotBeMade) {
    const auto refused = Identity::load_or_create("/dev/null/keys/key.pem");
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error().code, ErrorCode::StorageFailed);
    EXPECT_EQ(
        refused.error().detail,
        "cannot write /dev/null/keys: Not a directory; a part of the path is a file: name another "
        "file with --key"
    );
}

TEST(Identity, MakesTheFolderOfItsKey) {
    const TemporaryFolder folder;
    const auto made = Identity::load_or_create(folder.path() / "missing" / "key.pem");
    ASSERT_TRUE(made.has_value()) << made.error().detail;
    const auto again = Identity::load_or_create(folder.path() / "missing" / "key.pem");
    EXPECT_EQ(again->peer(), made->peer());
}

TEST(Identity, IsTheHashOfTheRawPublicKey) {
    const Identity identity = Identity::make_ephemeral();
    std::array<std::byte, 32> raw{};
    std::size_t size = raw.size();
    auto* const out = reinterpret_cast<unsigned char*>(raw.data());
    ASSERT_EQ(EVP_PKEY_get_raw_public_key(identity.key(), out, &size), 1);
    const Digest digest = sha256(raw);
    const auto first_word = identity.peer().words[0];
    EXPECT_EQ(std::to_integer<std::uint64_t>(digest.bytes[0]), first_word >> 56U);
    EXPECT_EQ(std::to_integer<std::uint64_t>(digest.bytes[7]), first_word & 0xffU);
}

TEST(PeerIdText, IsReadAsTheIdThatWroteIt) {
    for (int i = 0; i < 20; ++i) {
        const PeerId peer = Identity::make_ephemeral().peer();
        const std::string text = to_text(peer);
        EXPECT_EQ(text.size(), 52U);
        const auto parsed = parse_peer_id(text);
        ASSERT_TRUE(parsed.has_value()) << text;
        EXPECT_EQ(*parsed, peer) << text;
    }
}

TEST(PeerIdText, FollowsTheRfcsAlphabet) {
    EXPECT_EQ(to_text(PeerId{}), std::string(52, 'a'));
    const PeerId some = Identity::make_ephemeral().peer();
    EXPECT_EQ(to_short_text(some), to_text(some).substr(0, 8));
    const std::uint64_t ones = ~0ULL;
    EXPECT_EQ(to_text(PeerId{{ones, ones, ones, ones}}), std::string(51, '7') + "q");
}

TEST(PeerIdText, RefusesOtherTexts) {
    const std::string good(52, 'a');
    EXPECT_TRUE(parse_peer_id(good).has_value());
    EXPECT_FALSE(parse_peer_id("").has_value());
    EXPECT_FALSE(parse_peer_id(good.substr(1)).has_value());
    EXPECT_FALSE(parse_peer_id(good + "a").has_value());
    EXPECT_FALSE(parse_peer_id(std::string(52, 'A')).has_value());
    EXPECT_FALSE(parse_peer_id(std::string(51, 'a') + "b").has_value()) << "bits beyond the last";
}

}  // namespace
}  // namespace swarm::net
