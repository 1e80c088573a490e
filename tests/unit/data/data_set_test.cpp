#include "swarm/data/data_set.hpp"

#include "tests/unit/data/data_bed.hpp"

namespace swarm::data::test {
namespace {

class DataSetTest : public DataBed {
 protected:
    void SetUp() override {
        std::string lines;
        for (int i = 0; i < 100; ++i) {
            lines += json_line("document " + std::to_string(i) + std::string(50, 'x'));
        }
        write("a.jsonl", lines);
        ASSERT_TRUE(build(data_of({"a.jsonl"})));
    }

    void expect_refused(Check check, ErrorCode code, const std::string& words) const {
        const auto data = DataSet::open(output(), check);
        ASSERT_TRUE(data.has_error()) << words;
        EXPECT_EQ(data.error().code, code) << data.error().detail;
        EXPECT_NE(data.error().detail.find(words), std::string::npos) << data.error().detail;
    }

    [[nodiscard]] fs::path shard(std::uint32_t number) const {
        return output() / shard_name("prose", number);
    }
};

TEST_F(DataSetTest, ReadsAcrossShards) {
    const auto data = DataSet::open(output(), Check::Headers);
    ASSERT_TRUE(data) << data.error().detail;
    ASSERT_GT(data->shards(0).size(), 3U);
    const std::uint64_t tokens = data->manifest().sources[0].tokens;
    std::vector<std::uint32_t> all(tokens);
    ASSERT_TRUE(data->read(0, 0, all));
    for (const std::uint64_t first :
         {std::uint64_t{0},
          std::uint64_t{1},
          std::uint64_t{1000},
          tokens - 3000,
          tokens - 1,
          tokens}) {
        std::vector<std::uint32_t> some(std::min<std::uint64_t>(3000, tokens - first));
        ASSERT_TRUE(data->read(0, first, some));
        EXPECT_TRUE(
            std::equal(some.begin(), some.end(), all.begin() + static_cast<std::ptrdiff_t>(first))
        ) << first;
    }
}

TEST_F(DataSetTest, AModelWithFewerTokensIsRefused) {
    const auto data = DataSet::open(output(), Check::Headers);
    EXPECT_TRUE(data->check_fits(257));
    EXPECT_TRUE(data->check_fits(300));
    const auto small = data->check_fits(256);
    ASSERT_TRUE(small.has_error());
    EXPECT_EQ(small.error().code, ErrorCode::Mismatch);
    EXPECT_NE(small.error().detail.find("bytes, which has 257 tokens"), std::string::npos);
}

TEST_F(DataSetTest, NothingOfAnUnfinishedFolderIsRead) {
    fs::remove(output() / kManifestName);
    expect_refused(Check::Headers, ErrorCode::NotFound, "has not ended");
}

TEST_F(DataSetTest, AMissingOrForeignShardIsNamed) {
    const std::string second = read_bytes(shard(1));
    fs::remove(shard(1));
    expect_refused(Check::Headers, ErrorCode::NotFound, "prose-000001.shard: No such file");
    write_bytes(shard(1), read_bytes(shard(0)));
    expect_refused(Check::Headers, ErrorCode::Mismatch, "is not the shard that the manifest names");
    write_bytes(shard(1), second);
    EXPECT_TRUE(DataSet::open(output(), Check::Everything));
}

TEST_F(DataSetTest, DamagedIdsAreFoundByACheckOfAll) {
    std::string bytes = read_bytes(shard(1));
    bytes[kShardHeaderBytes + 1] = 'x';  // the upper byte of the first id
    write_bytes(shard(1), bytes);
    expect_refused(Check::Everything, ErrorCode::Malformed, "its SHA-256 is another one");
    const auto data = DataSet::open(output(), Check::Headers);
    ASSERT_TRUE(data);
    std::vector<std::uint32_t> ids(10);
    EXPECT_TRUE(data->read(0, 0, ids));
    const auto read = data->read(0, data->shards(0)[0].header().tokens, ids);
    ASSERT_TRUE(read.has_error());
    EXPECT_NE(read.error().detail.find("prose-000001.shard is damaged"), std::string::npos);
}

TEST_F(DataSetTest, AManifestThatLiesAboutTokensIsRefused) {
    auto read = read_manifest(output());
    ++read->manifest.sources[0].tokens;
    write_bytes(output() / kManifestName, to_json(read->manifest));
    expect_refused(Check::Headers, ErrorCode::Malformed, "tokens, not the");
}

}  // namespace
}  // namespace swarm::data::test
