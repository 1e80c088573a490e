// Known answers: FIPS 180-4 examples and the NIST long-message vector of a million "a".
#include "swarm/base/digest.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace swarm {

namespace {

std::string hash_of(const std::string& text) {
    return to_hex(sha256(std::as_bytes(std::span(text))));
}

}  // namespace

TEST(Sha256, MatchesKnownVectors) {
    EXPECT_EQ(hash_of(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    EXPECT_EQ(hash_of("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    EXPECT_EQ(
        hash_of("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
    );
    EXPECT_EQ(
        hash_of(std::string(1'000'000, 'a')),
        "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"
    );
}

TEST(Sha256, HashesPiecesLikeTheWhole) {
    Sha256 pieces;
    pieces.add_text("a");
    pieces.add({});
    pieces.add_text("bc");
    EXPECT_EQ(to_hex(pieces.finish()), hash_of("abc"));
}

TEST(Sha256, StartsANewHashAfterFinish) {
    Sha256 hash;
    hash.add_text("something else");
    static_cast<void>(hash.finish());
    hash.add_text("abc");
    EXPECT_EQ(to_hex(hash.finish()), hash_of("abc"));
}

TEST(Sha256, GoesOnAfterAMove) {
    Sha256 first;
    first.add_text("ab");
    Sha256 second = std::move(first);
    second.add_text("c");
    EXPECT_EQ(to_hex(second.finish()), hash_of("abc"));
}

TEST(Digest, IsOrderedByItsBytes) {
    Digest low;
    Digest high;
    high.bytes[0] = std::byte{1};
    EXPECT_LT(low, high);
    low.bytes[0] = std::byte{1};
    EXPECT_EQ(low, high);
    low.bytes[31] = std::byte{0x80};
    EXPECT_GT(low, high);
}

TEST(Digest, KeepsLeadingZerosInHex) {
    Digest digest;
    digest.bytes[0] = std::byte{0x0a};
    EXPECT_EQ(to_hex(digest), "0a" + std::string(62, '0'));
}

}  // namespace swarm
