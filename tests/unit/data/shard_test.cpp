#include "swarm/data/shard.hpp"

#include "tests/unit/data/data_bed.hpp"

#include <array>

namespace swarm::data::test {
namespace {

std::string hex_of(std::string_view bytes) {
    std::string hex;
    for (const char byte : bytes) {
        constexpr std::string_view kDigits = "0123456789abcdef";
        hex += kDigits[static_cast<unsigned char>(byte) >> 4];
        hex += kDigits[static_cast<unsigned char>(byte) & 15U];
    }
    return hex;
}

std::string with_header(const ShardHeader& header, const std::string& file) {
    const ShardHeaderBytes bytes = to_bytes(header);
    return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()) +
           file.substr(kShardHeaderBytes);
}

class ShardTest : public DataBed {
 protected:
    /// Writes shard 7 of source 3: the end of a document, and the begin of another.
    void write_shard(std::uint32_t id_bytes = 2) {
        ShardHeader before;
        before.source = 3;
        before.shard = 6;
        before.id_bytes = id_bytes;
        before.tokens = 1000;
        before.documents = 20;
        ShardDraft draft(3, id_bytes);
        draft.follow(before);
        draft.begin_document(true);
        draft.add(std::array<std::uint32_t, 2>{1, 2});
        draft.begin_document(false);
        draft.add(std::array<std::uint32_t, 3>{256, 65'535, 3});
        draft.add_text_bytes(33);
        for (int i = 0; i < 4; ++i) {
            draft.add_bad_line();
        }
        const auto written = draft.write(folder.path(), "prose", {9, 12'345, 678, true}, true);
        ASSERT_TRUE(written) << written.error().detail;
        EXPECT_EQ(draft.header().shard, 8U);
        EXPECT_EQ(draft.header().first_token, 1005U);
        EXPECT_EQ(draft.header().first_document, 21U);
        EXPECT_EQ(draft.header().tokens, 0U);
    }

    [[nodiscard]] fs::path path() const { return folder.path() / "prose-000007.shard"; }

    /// Expects that opening, or reading all, fails with these words.
    void expect_refused(const std::string& file, ErrorCode code, const std::string& words) {
        write_bytes(path(), file);
        auto shard = Shard::open(path());
        const Result<> checked = shard ? shard->verify(65'536) : Result<>(shard.error());
        ASSERT_TRUE(checked.has_error()) << words;
        EXPECT_EQ(checked.error().code, code) << checked.error().detail;
        EXPECT_NE(checked.error().detail.find(words), std::string::npos) << checked.error().detail;
        EXPECT_NE(checked.error().detail.find("prose-000007.shard"), std::string::npos);
    }
};

/// The bytes come from another program, by the table in shard.hpp.
TEST_F(ShardTest, HasTheDocumentedBytes) {
    write_shard();
    EXPECT_EQ(
        hex_of(read_bytes(path())),
        "5357524d444154410100000002000000030000000700000005000000000000000200000000000000e803000000"
        "00000014000000000000002100000000000000040000000000000009000000000000003930000000000000a602"
        "0000000000000700000000000000c6c422ff7058fcd1a7a0f5c7f333d56eec32acfdc6050985bbdbab53c8e051"
        "c20000000000000000000000000000000000000000000000000000000000000000000000000000000000000000"
        "0000000000000000000000000000000000000000000000000000000000000000000000000000000000000000c3"
        "0094807604596906e10114c0448c5f8aa7d377adebf3b41c2c3d191ef12735010002000001ffff030000000000"
        "000000000000020000000200000008000000"
    );
}

TEST_F(ShardTest, ReadsBack) {
    for (const std::uint32_t id_bytes : {2U, 4U}) {
        write_shard(id_bytes);
        const auto shard = Shard::open(path());
        ASSERT_TRUE(shard) << shard.error().detail;
        EXPECT_TRUE(shard->verify(65'536));
        std::array<std::uint32_t, 5> ids{};
        shard->read(0, ids);
        EXPECT_EQ(ids, (std::array<std::uint32_t, 5>{1, 2, 256, 65'535, 3}));
        shard->read(4, std::span(ids).first(1));
        EXPECT_EQ(ids[0], 3U);
        const ShardHeader& header = shard->header();
        EXPECT_EQ(header.next, (InputPlace{9, 12'345, 678, true}));
        EXPECT_TRUE(header.is_last);
        EXPECT_EQ(header.documents_begun(), 1U);
        EXPECT_EQ(header.bad_lines, 4U);
        EXPECT_EQ(header.text_bytes, 33U);
        const Shard::Document first = shard->document(0);
        EXPECT_TRUE(first.continues && !first.goes_on);
        EXPECT_EQ(first.tokens, 2U);
        const Shard::Document second = shard->document(1);
        EXPECT_TRUE(!second.continues && second.goes_on);
        EXPECT_EQ(second.first, 2U);
        EXPECT_EQ(second.tokens, 3U);
    }
}

TEST_F(ShardTest, ATruncatedFileIsRefusedAtEveryLength) {
    write_shard();
    const std::string whole = read_bytes(path());
    for (std::size_t bytes = 0; bytes < whole.size(); ++bytes) {
        expect_refused(whole.substr(0, bytes), ErrorCode::Malformed, "");
    }
    expect_refused(whole + "x", ErrorCode::Malformed, "has 289 bytes, its header says 288");
}

TEST_F(ShardTest, EachChangedByteIsNoticed) {
    write_shard();
    const std::string whole = read_bytes(path());
    for (std::size_t at = 0; at < whole.size(); ++at) {
        std::string changed = whole;
        changed[at] = static_cast<char>(changed[at] ^ 0x10);
        const bool is_version = (at >= 8 && at < 12) || (at >= 100 && at < 104);
        expect_refused(changed, is_version ? ErrorCode::Mismatch : ErrorCode::Malformed, "");
    }
}

/// The liar computes all digests anew.
TEST_F(ShardTest, AHeaderThatLiesIsRefused) {
    write_shard();
    const std::string whole = read_bytes(path());
    const ShardHeader good = Shard::open(path())->header();
    ShardHeader lie = good;
    lie.tokens = 1ULL << 63;
    expect_refused(with_header(lie, whole), ErrorCode::Malformed, "impossible sizes");
    lie = good;
    lie.documents = 1ULL << 61;
    expect_refused(with_header(lie, whole), ErrorCode::Malformed, "impossible sizes");
    lie = good;
    lie.id_bytes = 3;
    expect_refused(with_header(lie, whole), ErrorCode::Malformed, "impossible sizes");
    lie = good;
    lie.documents = 0;  // but its first document continues
    expect_refused(with_header(lie, whole), ErrorCode::Malformed, "impossible sizes");
    lie = good;
    lie.tokens = 9;
    expect_refused(with_header(lie, whole), ErrorCode::Malformed, "its header says 296");
    lie = good;
    lie.content = {};
    expect_refused(with_header(lie, whole), ErrorCode::Malformed, "its SHA-256 is another one");
}

TEST_F(ShardTest, ContentThatLiesIsRefused) {
    write_shard();
    const std::string whole = read_bytes(path());
    const ShardHeader good = Shard::open(path())->header();
    const auto with_content = [&](std::size_t at, char byte) {
        std::string file = whole;
        file[at] = byte;
        ShardHeader header = good;
        header.content = sha256(std::as_bytes(std::span(file).subspan(kShardHeaderBytes)));
        return with_header(header, file);
    };
    const std::size_t table = kShardHeaderBytes + 16;
    expect_refused(with_content(table, 9), ErrorCode::Malformed, "documents out of order");
    expect_refused(with_content(table + 8, 6), ErrorCode::Malformed, "documents out of order");
    const auto lying = Shard::open(path());
    ASSERT_TRUE(lying);
    EXPECT_EQ(lying->document(1).tokens, 0U);  // and no read behind the ids
    write_shard();
    const auto shard = Shard::open(path());
    const auto small = shard->verify(65'535);
    ASSERT_TRUE(small.has_error());
    EXPECT_NE(small.error().detail.find("ids that the vocabulary lacks"), std::string::npos);
}

TEST_F(ShardTest, AFileThatIsNotThereIsNamed) {
    const auto shard = Shard::open(folder.path() / "gone.shard");
    ASSERT_TRUE(shard.has_error());
    EXPECT_EQ(shard.error().code, ErrorCode::NotFound);
    EXPECT_TRUE(Shard::open(folder.path()).has_error());
}

}  // namespace
}  // namespace swarm::data::test
