#include "swarm/data/manifest.hpp"

#include "tests/unit/data/data_bed.hpp"

namespace swarm::data::test {
namespace {

Manifest some_manifest() {
    Manifest manifest;
    manifest.tokenizer = "bytes";
    manifest.tokenizer_digest = sha256({});
    manifest.vocabulary = 257;
    manifest.end_token = 256;
    manifest.sources.push_back({"a", 0.25, 1000, 10, 990, 2, {sha256({}), Digest{}}});
    manifest.sources.push_back({"b", std::nullopt, 5, 1, 4, 0, {Digest{}}});
    return manifest;
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return text.replace(at, from.size(), to);
}

TEST(Manifest, ReadsBack) {
    const auto read = parse_manifest(to_json(some_manifest()));
    ASSERT_TRUE(read) << read.error().detail;
    EXPECT_EQ(*read, some_manifest());
}

TEST(Manifest, WhatIsMissingOrOfAnotherTypeIsRefused) {
    const std::string good = to_json(some_manifest());
    for (const auto& [from, to] : std::map<std::string, std::string>{
             {"\"end_token\":256", "\"end_token\":257"},
             {"\"end_token\":256,", ""},
             {"\"vocabulary\":257", "\"vocabulary\":1e99"},
             {"\"vocabulary\":257", "\"vocabulary\":-1"},
             {"\"tokens\":1000", "\"tokens\":\"1000\""},
             {"\"documents\":10", "\"documents\":18446744073709551615"},
             {"\"weight\":null", "\"weight\":\"1\""},
             {"\"weight\":null", "\"weight\":-1"},
             {"\"name\":\"a\"", "\"name\":\"../a\""},
             {"\"name\":\"a\"", "\"name\":7"},
             {"\"shards\":[", "\"shards\":[\"00\","},
             {"\"shards\":[", "\"shards\":[1,"},
             {"\"sources\":[", "\"sources\":[1,"},
             {"\"format\":", "\"more\":1,\"format\":"}}) {
        const auto read = parse_manifest(replaced(good, from, to));
        ASSERT_TRUE(read.has_error()) << to;
        EXPECT_EQ(read.error().code, ErrorCode::Malformed) << to;
    }
    const auto newer = parse_manifest(replaced(good, "swarm data 1", "swarm data 2"));
    ASSERT_TRUE(newer.has_error());
    EXPECT_EQ(newer.error().code, ErrorCode::Mismatch);
    EXPECT_TRUE(parse_manifest("").has_error());
    EXPECT_TRUE(parse_manifest("[]").has_error());
    EXPECT_TRUE(parse_manifest(good.substr(0, good.size() / 2)).has_error());
}

TEST(Manifest, AFolderWithoutOneIsNotBuilt) {
    const swarm::test::TemporaryFolder folder;
    const auto read = read_manifest(folder.path());
    ASSERT_TRUE(read.has_error());
    EXPECT_EQ(read.error().code, ErrorCode::NotFound);
    EXPECT_NE(read.error().detail.find("`swarm data build` has not ended"), std::string::npos);
}

}  // namespace
}  // namespace swarm::data::test
