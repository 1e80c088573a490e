// The files that PyPI pyarrow has written (tests/golden/parquet), beside the same rows as JSONL.
#include "swarm/data/parquet/row_reader.hpp"
#include "tests/unit/data/parquet/table_bed.hpp"

#include <algorithm>
#include <cstddef>
#include <memory>

namespace swarm::data::test {
namespace {

class GoldenFilesTest : public TableBed {
 protected:
    static void expect_same(
        const std::string& table, const std::string& lines, RowKind rows = RowKind::Text
    ) {
        const ReadRows wanted = read(golden(lines), rows);
        const ReadRows found = read(golden(table), rows);
        EXPECT_GT(wanted.texts.size(), 10U);
        EXPECT_EQ(found.texts, wanted.texts) << table;
        EXPECT_EQ(found.bad, wanted.bad) << table;
    }

    [[nodiscard]] Result<Built> build_file(const std::string& name, std::uint64_t shard_tokens) {
        fs::create_directories(input("."));
        fs::copy_file(golden(name), input(name), fs::copy_options::overwrite_existing);
        DataFile data = data_of({name});
        data.shard_tokens = shard_tokens;
        data.sources[0].bad_lines = BadLines::Skip;
        return build(data, {}, name + ".out");
    }
};

using Texts = std::vector<std::string>;

TEST_F(GoldenFilesTest, EachCodecAndEncodingHasTheTextsOfItsLines) {
    for (const char* const name :
         {"none_v1",
          "none_v2",
          "snappy_v1",
          "snappy_v2",
          "gzip_v1",
          "gzip_v2",
          "zstd_v1",
          "zstd_v2",
          "fallback",
          "groups",
          "delta_lengths",
          "delta_lengths_v2",
          "delta_texts",
          "delta_texts_v2",
          "checksums",
          "large",
          "bytes",
          "required"}) {
        expect_same(std::string(name) + ".parquet", "texts.jsonl");
    }
}

TEST_F(GoldenFilesTest, ANullIsABadRow) {
    expect_same("nulls.parquet", "nulls.jsonl");
    expect_same("nulls_v2.parquet", "nulls.jsonl");
    const ReadRows none = read(golden("all_null.parquet"));
    EXPECT_EQ(none.texts, Texts{});
    ASSERT_EQ(none.bad.size(), 20U);
    EXPECT_EQ(none.bad[19], "20: has no text in the field \"text\"");
}

TEST_F(GoldenFilesTest, AListOfGroupsIsAChat) {
    for (const char* const name : {"chats", "chats_small", "chats_v2"}) {
        expect_same(std::string(name) + ".parquet", "chats.jsonl", RowKind::Chat);
    }
    EXPECT_EQ(read(golden("chats.parquet"), RowKind::Chat).bad.size(), 7U);
}

TEST_F(GoldenFilesTest, ATableOfNoRowsHasNoTexts) {
    const ReadRows found = read(golden("empty.parquet"));
    EXPECT_EQ(found.texts, Texts{});
    EXPECT_EQ(found.bad, Texts{});
}

TEST_F(GoldenFilesTest, ReadingFromAPlaceGivesTheRest) {
    const auto check = [](const std::string& name, RowKind rows) {
        const ReadRows all = read(golden(name), rows);
        for (std::size_t i = 0; i < all.texts.size(); ++i) {
            const ReadRows rest = read(golden(name), rows, "", all.places[i]);
            const auto begin = all.texts.begin() + static_cast<std::ptrdiff_t>(i);
            ASSERT_EQ(rest.texts, Texts(begin, all.texts.end())) << name << " from text " << i;
            ASSERT_TRUE(std::equal(rest.bad.rbegin(), rest.bad.rend(), all.bad.rbegin())) << name;
        }
    };
    for (const char* const name : {"groups", "fallback", "nulls_v2", "delta_texts", "none_v1"}) {
        check(std::string(name) + ".parquet", RowKind::Text);
    }
    check("chats_small.parquet", RowKind::Chat);
    check("chats_v2.parquet", RowKind::Chat);
    const ReadRows beyond = read(golden("groups.parquet"), RowKind::Text, "", {0, 0, 1000, false});
    EXPECT_EQ(beyond.bad, Texts{"0: has fewer rows than it had"});
}

TEST_F(GoldenFilesTest, BadTextsAndCodecsThatAreNotReadAreNamed) {
    const ReadRows bad = read(golden("bad_utf8.parquet"));
    EXPECT_EQ(bad.texts, (Texts{"good", "good, too"}));
    EXPECT_EQ(bad.bad, Texts{"2: has no UTF-8 text in the field \"text\""});
    EXPECT_EQ(
        read(golden("brotli.parquet")).bad,
        Texts{"0: row group 0: is packed with BROTLI, which is not read; read are UNCOMPRESSED, "
              "SNAPPY, GZIP, ZSTD"}
    );
    EXPECT_NE(read(golden("lz4.parquet")).bad.at(0).find("with LZ4_RAW, which"), std::string::npos);
}

TEST_F(GoldenFilesTest, AColumnThatIsNotThereIsRefusedWithTheOthers) {
    const auto refused = [](const std::string& name, RowKind rows, const std::string& field) {
        const ReadRows found = read(golden(name), rows, field);
        EXPECT_EQ(found.texts, Texts{});
        return found.bad.at(0);
    };
    EXPECT_EQ(
        refused("others.parquet", RowKind::Text, "text"),
        R"(0: has no column "text"; its columns of texts: "title", "body")"
    );
    EXPECT_EQ(
        refused("others.parquet", RowKind::Text, "id"),
        R"(0: column "id" has no texts: it is INT64; its columns of texts: "title", "body")"
    );
    EXPECT_EQ(
        refused("others.parquet", RowKind::Text, "tags"),
        R"(0: column "tags" has no texts: it is a group of columns; its columns of texts: )"
        R"("title", "body")"
    );
    EXPECT_EQ(
        refused("others.parquet", RowKind::Chat, ""),
        R"(0: has no column "messages"; the file has no column of chats)"
    );
    EXPECT_EQ(
        refused("chats.parquet", RowKind::Chat, "talks"),
        R"(0: has no column "talks"; its columns of chats: "messages")"
    );
    EXPECT_EQ(
        refused("others.parquet", RowKind::Chat, "tags"),
        R"(0: column "tags" has no chats, lists of groups with texts "role" and "content": it is )"
        R"(a group of columns; the file has no column of chats)"
    );
}

TEST_F(GoldenFilesTest, AFileAndItsLinesMakeTheSameTokens) {
    const auto lines = build_file("nulls.jsonl", kShardTokens);
    ASSERT_TRUE(lines && lines->is_whole);
    const auto data = DataSet::open(output("nulls.jsonl.out"), Check::Everything);
    const auto documents = documents_of(*data, 0);
    for (const char* const name : {"nulls.parquet", "nulls_v2.parquet"}) {
        const auto table = build_file(name, kShardTokens);
        ASSERT_TRUE(table && table->is_whole);
        EXPECT_EQ(table->digest, lines->digest) << name;
        const auto in_parts = build_file(name, kShardTokensLeast);
        ASSERT_FALSE(in_parts);  // the folder is of another build
        fs::remove_all(output(std::string(name) + ".out"));
        ASSERT_TRUE(build_file(name, kShardTokensLeast));
        const auto parts = DataSet::open(output(std::string(name) + ".out"), Check::Everything);
        EXPECT_GT(parts->manifest().sources[0].shards.size(), 2U);
        EXPECT_EQ(documents_of(*parts, 0), documents) << name;
    }
}

TEST_F(GoldenFilesTest, AStoppedBuildGoesOnToTheSameBytes) {
    fs::create_directories(input("."));
    fs::copy_file(golden("groups.parquet"), input("groups.parquet"));
    const DataFile data = data_of({"groups.parquet"});
    ASSERT_TRUE(build(data, {}, "whole"));
    int calls = 0;
    BuildEvents stops;
    stops.is_to_stop = [&] { return ++calls % 40 == 0; };
    int starts = 1;
    for (auto built = build(data, stops); built && !built->is_whole; built = build(data, stops)) {
        ASSERT_LT(++starts, 20);
    }
    EXPECT_GT(starts, 2);
    EXPECT_EQ(files_of(output()), files_of(output("whole")));
}

/// Reads bytes in memory; returns why the rest cannot be read, and counts the rows before it.
std::string read_from_memory(const std::string& bytes, RowKind rows, std::size_t& count) {
    const std::string field = rows == RowKind::Chat ? "messages" : "text";
    count = 0;
    auto reader =
        parquet::RowReader::open(std::make_unique<parquet::MemoryBytes>(bytes), field, rows, 0);
    if (reader.has_error()) {
        return reader.error().detail;
    }
    while (true) {
        const auto row = (*reader)->next();
        if (row.has_error()) {
            return row.error().detail;
        }
        if (!*row) {
            return "";
        }
        ++count;
    }
}

TEST_F(GoldenFilesTest, AFileThatIsCutShortIsRefusedAtEachLength) {
    for (const char* const name : {"none_v1.parquet", "chats_v2.parquet"}) {
        const std::string bytes = read_bytes(golden(name));
        for (std::size_t length = 0; length < bytes.size(); ++length) {
            std::size_t rows = 0;
            EXPECT_NE(read_from_memory(bytes.substr(0, length), RowKind::Text, rows), "")
                << name << " of length " << length;
            EXPECT_EQ(rows, 0U);
        }
    }
}

TEST_F(GoldenFilesTest, NoChangedByteMakesMoreRows) {
    const auto check = [](const std::string& name, RowKind kind) {
        const std::string bytes = read_bytes(golden(name));
        std::size_t wanted = 0;
        EXPECT_EQ(read_from_memory(bytes, kind, wanted), "");
        EXPECT_GT(wanted, 10U);
        std::size_t refused = 0;
        for (std::size_t at = 0; at < bytes.size(); ++at) {
            std::string changed = bytes;
            changed[at] = static_cast<char>(changed[at] ^ (at % 3 == 0 ? 0xFF : 1 << at % 8));
            std::size_t rows = 0;
            refused += read_from_memory(changed, kind, rows).empty() ? 0 : 1;
            EXPECT_LE(rows, wanted) << name << ", byte " << at;
        }
        EXPECT_GT(refused, 100U) << name;
    };
    for (const char* const name : {"snappy_v1", "gzip_v2", "zstd_v1", "delta_texts_v2", "nulls"}) {
        check(std::string(name) + ".parquet", RowKind::Text);
    }
    check("chats.parquet", RowKind::Chat);
}

TEST_F(GoldenFilesTest, AChecksumSeesEachChangedByteOfAPage) {
    std::string bytes = read_bytes(golden("checksums.parquet"));
    const std::string text("\x07\0\0\0the end", 11);  // not the one of the statistics
    const std::size_t at = bytes.find(text);
    ASSERT_NE(at, std::string::npos);
    bytes[at + 4] = 'T';
    const ReadRows found = read_bytes_of(bytes);
    ASSERT_EQ(found.bad.size(), 1U);
    EXPECT_NE(found.bad[0].find("another checksum than its header says"), std::string::npos)
        << found.bad[0];
    EXPECT_FALSE(found.texts.empty());
}

}  // namespace
}  // namespace swarm::data::test
