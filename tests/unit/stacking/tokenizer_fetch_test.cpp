#include "stacking/tokenizer_fetch.hpp"

#include "swarm/base/digest.hpp"
#include "swarm/protocol/limits.hpp"

#include <gtest/gtest.h>

namespace stacking {
namespace {

namespace protocol = swarm::protocol;

std::string digest_of(const std::string& file) {
    return to_hex(swarm::sha256(std::as_bytes(std::span(file))));
}

protocol::Chunk chunk(std::uint32_t number) {
    protocol::Chunk body;
    body.chunk = number;
    return body;
}

bool give(TokenizerFetch& fetch, std::uint32_t number, const std::string& bytes) {
    return fetch.take(chunk(number), std::as_bytes(std::span(bytes)));
}

TEST(TokenizerFetch, AsksChunkByChunkUntilAShortOneComes) {
    const std::string first(protocol::kChunkBytes, 'a');
    TokenizerFetch fetch(digest_of(first + "end"));
    EXPECT_TRUE(fetch.question().tokenizer);
    EXPECT_EQ(fetch.question().chunk, 0U);
    EXPECT_TRUE(give(fetch, 0, first));
    EXPECT_EQ(fetch.question().chunk, 1U);
    EXPECT_FALSE(give(fetch, 0, first)) << "it came twice";
    EXPECT_TRUE(give(fetch, 1, "end"));
    ASSERT_TRUE(fetch.is_whole());
    EXPECT_EQ(fetch.file(), first + "end");
}

TEST(TokenizerFetch, AFileOfWholeChunksEndsWithAnEmptyOne) {
    const std::string first(protocol::kChunkBytes, 'a');
    TokenizerFetch fetch(digest_of(first));
    give(fetch, 0, first);
    EXPECT_FALSE(fetch.is_whole());
    give(fetch, 1, "");
    EXPECT_TRUE(fetch.is_whole());
}

TEST(TokenizerFetch, AnotherFileIsRefused) {
    TokenizerFetch fetch(digest_of("one"));
    give(fetch, 0, "two");
    EXPECT_FALSE(fetch.is_whole());
    EXPECT_NE(fetch.failure().find("another tokenizer"), std::string::npos);
}

TEST(TokenizerFetch, AFileWithoutEndIsRefused) {
    const std::string whole(protocol::kChunkBytes, 'a');
    TokenizerFetch fetch(digest_of("one"));
    constexpr std::uint32_t kMost = protocol::kTokenizerBytesMax / protocol::kChunkBytes;
    for (std::uint32_t number = 0; number < kMost; ++number) {
        EXPECT_TRUE(give(fetch, number, whole));
        EXPECT_EQ(fetch.failure(), "");
    }
    EXPECT_TRUE(give(fetch, kMost, "b"));
    EXPECT_NE(fetch.failure().find("too large"), std::string::npos);
    TokenizerFetch other(digest_of("one"));
    EXPECT_TRUE(give(other, 0, whole + "b"));
    EXPECT_NE(other.failure().find("too large"), std::string::npos);
}

TEST(TokenizerFetch, ACoordinatorWithoutTheFileSaysSo) {
    TokenizerFetch fetch(digest_of("one"));
    protocol::ChunkRefused refused;
    refused.chunk = 1;
    EXPECT_FALSE(fetch.take(refused)) << "nobody asked for that chunk";
    refused.chunk = 0;
    EXPECT_TRUE(fetch.take(refused));
    EXPECT_NE(fetch.failure().find("does not have the tokenizer"), std::string::npos);
}

}  // namespace
}  // namespace stacking
