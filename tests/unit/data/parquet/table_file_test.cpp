// Files that no library writes: all that a reader must take, and all that it must refuse.
#include "tests/unit/data/parquet/table_file.hpp"

#include "swarm/data/limits.hpp"
#include "tests/unit/data/parquet/table_bed.hpp"

namespace swarm::data::parquet::test {
namespace {

using Texts = std::vector<std::string>;
using data::test::ReadRows;

class TableFileTest : public data::test::TableBed {
 protected:
    /// Expects that nothing behind these texts is read, for this reason.
    void expect_refused(
        const std::string& bytes,
        const std::string& reason,
        const Texts& before = {},
        RowKind rows = RowKind::Text
    ) const {
        const ReadRows found = read_bytes_of(bytes, rows);
        EXPECT_EQ(found.texts, before) << reason;
        ASSERT_EQ(found.bad.size(), 1U) << reason;
        EXPECT_NE(found.bad[0].find(reason), std::string::npos) << found.bad[0];
    }

    void expect_page_refused(
        const std::string& page,
        std::int64_t values,
        const std::string& reason,
        const Texts& before = {},
        int repetition = kRequired
    ) const {
        expect_refused(file_of(text_table({page, values}, values, repetition)), reason, before);
    }
};

TEST_F(TableFileTest, APageIsReadByHand) {
    const std::string page = data_page({.values = 2}, plain({"one", "two"}));
    EXPECT_EQ(read_bytes_of(file_of(text_table({page, 2}, 2))).texts, (Texts{"one", "two"}));
}

TEST_F(TableFileTest, AFileIsKnownByItsEnds) {
    const std::string good = file_of(text_table({data_page({.values = 1}, plain({"one"})), 1}, 1));
    expect_refused("", "is no Parquet file");
    expect_refused("PAR1PAR1", "is no Parquet file, or cut short");
    expect_refused("PAR2" + good.substr(4), "it does not begin with PAR1");
    expect_refused(good + "x", "does not end with PAR1: the file is cut short or damaged");
    expect_refused(good.substr(0, good.size() - 1) + "E", "its footer is encrypted");
    expect_refused("PARE" + good.substr(4), "its footer is encrypted");
    const std::string tail = u32(good.size()) + "PAR1";
    expect_refused(good.substr(0, good.size() - 8) + tail, "claims to be longer than the file");
    expect_refused("PAR1" + std::string(40, '\xFF') + u32(40) + "PAR1", "its footer is damaged");
    expect_refused("PAR1" + u32(0) + "PAR1", "its footer is damaged");
}

TEST_F(TableFileTest, AFooterIsHeldAgainstItself) {
    const Chunk good{data_page({.values = 1}, plain({"one"})), 1};
    const auto with = [&](auto change) {
        Table table = text_table(good, 1);
        change(table);
        return file_of(table);
    };
    expect_refused(with([](Table& t) { t.rows = 2; }), "have 1 rows, and its footer says 2");
    expect_refused(
        with([](Table& t) {
            t.rows = 3;
            t.groups.clear();
        }),
        "have 0 rows, and its footer says 3"
    );
    expect_refused(with([](Table& t) { t.is_encrypted = true; }), "its columns are encrypted");
    expect_refused(with([](Table& t) { t.schema.clear(); }), "its footer is damaged");
    expect_refused(with([](Table& t) { t.schema.pop_back(); }), "its footer is damaged");
    expect_refused(
        with([](Table& t) { t.schema.push_back(leaf("x", kRequired)); }), "its footer is damaged"
    );
    expect_refused(
        with([](Table& t) { t.groups[0].chunks.push_back(t.groups[0].chunks[0]); }),
        "row group 0: its columns are not those of the schema"
    );
    const auto chunk = [&](auto change) {
        return with([&](Table& t) { change(t.groups[0].chunks[0]); });
    };
    expect_refused(chunk([](Chunk& c) { c.is_encrypted = true; }), "that is needed is encrypted");
    expect_refused(chunk([](Chunk& c) { c.elsewhere = "b"; }), "lie in another file");
    expect_refused(chunk([](Chunk& c) { c.codec = 3; }), "packed with LZO, which is not read");
    expect_refused(chunk([](Chunk& c) { c.codec = 99; }), "packed with codec 99");
    expect_refused(chunk([](Chunk& c) { c.type = 1; }), "of another type than its column");
    expect_refused(chunk([](Chunk& c) { c.begin = 3; }), "a chunk lies outside of the file");
    expect_refused(chunk([](Chunk& c) { c.begin = 1 << 20; }), "a chunk lies outside");
    expect_refused(chunk([](Chunk& c) { c.bytes = 1 << 20; }), "a chunk lies outside");
    expect_refused(chunk([](Chunk& c) { c.values = 2; }), "another number of values");
}

TEST_F(TableFileTest, NumbersOfAFooterAreBounded) {
    Table many = text_table({data_page({.values = 1}, plain({"one"})), 1}, 1);
    many.schema.assign(kParquetColumnsMax + 1, leaf("x", kRequired));
    expect_refused(file_of(many), "its footer is damaged");
    Table groups = text_table({}, 0);
    groups.groups.assign(kParquetRowGroupsMax + 1, Group{0, {Chunk{}}});
    expect_refused(file_of(groups), "has more than 262144 row groups");
    std::string deep;
    for (unsigned i = 0; i < 10 * kThriftDepthMax; ++i) {
        deep += '\x1C';  // field 1, a struct
    }
    expect_refused("PAR1" + deep + u32(deep.size()) + "PAR1", "its footer is damaged");
}

TEST_F(TableFileTest, SizesOfAPageAreHeldAgainstChunkAndBounds) {
    const std::string body = plain({"one"});
    const auto page = [&](const PageFields& fields) { return data_page(fields, body); };
    const std::int64_t too_many = std::int64_t{kParquetPageBytesMax} + 1;
    expect_page_refused(page({.values = 1, .packed_bytes = 100}), 1, "longer than its row group");
    expect_page_refused(
        page({.values = 1, .bytes = too_many}),
        1,
        "a page has 67108865 bytes, and at most 64 MiB are read; write the file with smaller pages"
    );
    expect_page_refused(page({.values = 1, .packed_bytes = too_many}), 1, "at most 64 MiB");
    expect_page_refused(page({.values = 1, .bytes = 8}), 1, "does not unpack to the size");
    expect_page_refused(page({.values = kParquetPageValuesMax + 1LL}), 1LL << 40, "values");
    expect_page_refused(page({.values = -1}), 1, "a page has a damaged header");
    expect_page_refused(page({.values = 2}), 1, "more values than the row group says");
    expect_page_refused(page({.values = 1}), 2, "fewer values than the row group", {"one"});
    expect_page_refused(page({.values = 2}), 2, "longer than the page", {"one"});
    expect_page_refused(std::string(3, '\x15'), 1, "the header of a page does not end");
    expect_page_refused(std::string(1, '\0'), 1, "a page has a damaged header");
    expect_page_refused(data_page({.values = 1}, u32(1 << 30) + "x"), 1, "longer than the page");
    for (const int codec : {1, 2, 6}) {
        const Chunk chunk{page({.values = 1, .bytes = 1 << 20}), 1, codec};
        expect_refused(file_of(text_table(chunk, 1)), "does not unpack to the size in its header");
    }
}

TEST_F(TableFileTest, EncodingsThatAreNotReadAreNamed) {
    const std::string body = levels({1}) + plain({"one"});
    expect_page_refused(
        data_page({.values = 1, .levels_encoding = 4}, body),
        1,
        "its levels are written as BIT_PACKED, which is not read",
        {},
        kOptional
    );
    expect_page_refused(
        data_page({.values = 1, .levels_encoding = 9}, body),
        1,
        "in an unknown encoding",
        {},
        kOptional
    );
    expect_page_refused(
        data_page({.values = 1, .encoding = 5}, plain({"one"})),
        1,
        "its texts are written in encoding 5, which is not read"
    );
    // A column without levels may say what it likes about them.
    const std::string page = data_page({.values = 1, .levels_encoding = 4}, plain({"one"}));
    EXPECT_EQ(read_bytes_of(file_of(text_table({page, 1}, 1))).texts, Texts{"one"});
}

TEST_F(TableFileTest, LevelsAreHeldAgainstTheColumn) {
    const auto page = [](const std::string& body) { return data_page({.values = 2}, body); };
    expect_page_refused(
        page(levels({1, 2}) + plain({"a", "b"})),
        2,
        "levels of a page are damaged",
        {"a"},
        kOptional
    );
    expect_page_refused(
        page(levels({1}) + plain({"a"})), 2, "levels of a page are damaged", {"a"}, kOptional
    );
    expect_page_refused(page(u32(9) + "x"), 2, "longer than the page", {}, kOptional);
    expect_page_refused(page("x"), 2, "longer than the page", {}, kOptional);
    std::string v2 = data_page_v2({.values = 1, .bytes = 1}, "", runs({1}), plain({"a"}));
    expect_page_refused(v2, 1, "levels of a page are longer", {}, kOptional);
}

TEST_F(TableFileTest, ADictionaryIsReadOnceAndHeldAgainstItsPages) {
    const std::string texts = dictionary_page({.values = 2}, plain({"one", "two"}));
    const auto page = [](const std::string& body) {
        return data_page({.values = 2, .encoding = 8}, body);
    };
    const std::string good = page('\x01' + runs({1, 0}));
    EXPECT_EQ(
        read_bytes_of(file_of(text_table({texts + good, 2}, 2))).texts, (Texts{"two", "one"})
    );
    expect_page_refused(
        texts + page('\x08' + runs({1, 7})), 2, "names text 7 of a dictionary of 2", {"two"}
    );
    expect_page_refused(texts + page('\x01' + runs({1})), 2, "a page has fewer texts", {"two"});
    expect_page_refused(texts + page("!"), 2, "a page has damaged indices");
    expect_page_refused(texts + page(""), 2, "a page has damaged indices");
    expect_page_refused(good, 2, "needs a dictionary, and there is none");
    expect_page_refused(texts + texts + good, 2, "has two dictionaries");
    const auto other = [&](const PageFields& fields) {
        return dictionary_page(fields, plain({"one", "two"})) + good;
    };
    expect_page_refused(other({.values = 3}), 2, "longer than the dictionary");
    expect_page_refused(other({.values = 4}), 2, "a dictionary has fewer texts");
    expect_page_refused(other({.values = 1 << 30}), 2, "values");
    expect_page_refused(other({.values = 5 << 20}), 2, "a dictionary has more than 4194304 texts");
    expect_page_refused(other({.values = 2, .encoding = 8}), 2, "is not written as PLAIN");
    // No bits are needed for the only text.
    const std::string one = dictionary_page({.values = 1}, plain({"one"}));
    const std::string same = one + page(std::string(1, '\0'));
    EXPECT_EQ(read_bytes_of(file_of(text_table({same, 2}, 2))).texts, (Texts{"one", "one"}));
}

TEST_F(TableFileTest, IndexPagesAndEmptyPagesArePassed) {
    ThriftStruct index;
    index.i32(1, 1).i32(2, 3).i32(3, 3).nested(6, ThriftStruct());
    const std::string pages = index.done() + "xyz" + data_page({.values = 0}, "") +
                              data_page({.values = 1}, plain({"one"})) +
                              data_page({.values = 0}, "") + data_page({.values = 1}, plain({""}));
    EXPECT_EQ(read_bytes_of(file_of(text_table({pages, 2}, 2))).texts, (Texts{"one", ""}));
}

TEST_F(TableFileTest, ATextIsBoundedLikeALine) {
    const std::string most(kLineBytesMax, 'a');
    const std::string page = data_page({.values = 3}, plain({most, most + "a", "last"}));
    const ReadRows found = read_bytes_of(file_of(text_table({page, 3}, 3)));
    ASSERT_EQ(found.texts.size(), 2U);
    EXPECT_TRUE(found.texts[0] == most);
    EXPECT_EQ(found.texts[1], "last");
    EXPECT_EQ(found.bad, Texts{"2: has more than 16 MiB"});
}

TEST_F(TableFileTest, GoodRowsBeforeDamageAreRead) {
    const std::string page = data_page({.values = 1}, plain({"one"}));
    Table table = text_table({page, 1}, 1);
    table.groups.push_back({1, {{"damage", 1}}});
    table.groups.push_back({1, {{page, 1}}});
    const ReadRows found = read_bytes_of(file_of(table));
    EXPECT_EQ(found.texts, Texts{"one"});
    EXPECT_EQ(
        found.bad, Texts{"2: row group 1: column \"text\": the header of a page does not end"}
    );
}

TEST_F(TableFileTest, NamesOfColumnsAreShownInOneLine) {
    Table table = text_table({}, 0);
    table.schema = {
        group("schema", kRequired, 4),
        leaf("te\nxt", kRequired),
        leaf("\xE6\x96\x87", kOptional),
        leaf("bad \xFF", kRequired),
        leaf(std::string(50, 'x'), kRequired)};
    expect_refused(
        file_of(table),
        "0: has no column \"text\"; its columns of texts: \"te?xt\", \"\xE6\x96\x87\", \"bad ?\", "
        "\"" +
            std::string(40, 'x') + "\""
    );
}

/// A table of chats: roles and contents, each with their levels.
Table chat_table(std::vector<ThriftStruct> schema, const std::string& roles, Chunk contents) {
    const auto values = contents.values;
    return {std::move(schema), {{2, {{roles, values}, std::move(contents)}}}};
}

/// Two rows, of two messages and of one, where a message is there at this level.
std::string chat_page(const Texts& texts, int level) {
    return data_page(
        {.values = 3}, levels({0, 1, 0}) + levels({level, level, level}) + plain(texts)
    );
}

TEST_F(TableFileTest, ListsOfTwoLevelsAreChats) {
    const ThriftStruct role = leaf("role", kRequired);
    const ThriftStruct content = leaf("content", kRequired);
    const Texts chats = {"1: hello\n2: hi\n", "2: yes\n"};
    const Texts roles = {"user", "assistant", "assistant"};
    const Texts contents = {"hello", "hi", "yes"};
    const auto read_chats = [&](std::vector<ThriftStruct> schema, int level) {
        return read_bytes_of(
            file_of(chat_table(
                std::move(schema), chat_page(roles, level), {chat_page(contents, level), 3}
            )),
            RowKind::Chat
        );
    };
    const ThriftStruct root = group("schema", kRequired, 1);
    const ReadRows two = read_chats(
        {root, group("messages", kOptional, 1), group("array", kRepeated, 2), role, content}, 2
    );
    EXPECT_EQ(two.texts, chats);
    EXPECT_EQ(two.bad, Texts{});
    const ReadRows one = read_chats({root, group("messages", kRepeated, 2), role, content}, 1);
    EXPECT_EQ(one.texts, chats);
    const ReadRows three = read_chats(
        {root,
         group("messages", kRequired, 1),
         group("list", kRepeated, 1),
         group("element", kOptional, 2),
         role,
         content},
        2
    );
    EXPECT_EQ(three.texts, chats);
}

TEST_F(TableFileTest, ColumnsOfChatsMustBelongTogether) {
    const std::vector<ThriftStruct> schema = {
        group("schema", kRequired, 1),
        group("messages", kRepeated, 2),
        leaf("role", kRequired),
        leaf("content", kRequired)};
    const std::string roles = chat_page({"user", "assistant", "assistant"}, 1);
    const auto contents = [](const std::vector<int>& repetitions, const std::vector<int>& there) {
        return Chunk{
            data_page({.values = 3}, levels(repetitions) + levels(there) + plain({"a", "b", "c"})),
            3};
    };
    const auto expect = [&](const Chunk& chunk, const std::string& reason, const Texts& before) {
        expect_refused(file_of(chat_table(schema, roles, chunk)), reason, before, RowKind::Chat);
    };
    const Texts first = {"1: a\n2: b\n"};
    expect(contents({1, 0, 0}, {1, 1, 1}), "a row of \"role\" begins within another", {});
    expect(contents({0, 0, 1}, {1, 1, 1}), "do not belong together", {});
    expect(contents({0, 1, 1}, {1, 1, 1}), "do not belong together", {});
    expect(contents({0, 1, 0}, {1, 0, 1}), "goes on without a message", {});
    expect(contents({0, 1, 0}, {1, 1, 0}), "do not belong together", first);
    Chunk short_one = contents({0, 1, 0}, {1, 1, 1});
    short_one.values = 2;
    expect(short_one, "more values than the row group says", {});
}

TEST_F(TableFileTest, AChatIsBounded) {
    const std::vector<ThriftStruct> schema = {
        group("schema", kRequired, 1),
        group("messages", kRepeated, 2),
        leaf("role", kRequired),
        leaf("content", kRequired)};
    const std::size_t count = kMessagesMax + 1;
    std::vector<int> repetitions(count + 2, 1);
    repetitions[0] = 0;
    repetitions[count] = 0;  // a second row, with two messages
    const std::string all = levels(repetitions) + levels(std::vector<int>(count + 2, 1));
    const PageFields fields{.values = static_cast<std::int64_t>(count + 2)};
    Texts roles(count + 2, "assistant");
    Texts contents(count + 2, "a");
    const auto page = [&](const Texts& texts) { return data_page(fields, all + plain(texts)); };
    const auto read_chats = [&] {
        return read_bytes_of(
            file_of(chat_table(schema, page(roles), {page(contents), fields.values})), RowKind::Chat
        );
    };
    const ReadRows many = read_chats();
    EXPECT_EQ(many.texts, Texts{"2: a\n2: a\n"});
    EXPECT_EQ(many.bad, Texts{"1: has more than 256 messages"});
    contents[count] = std::string(kLineBytesMax, 'a');
    EXPECT_EQ(read_chats().bad.at(1), "2: has more than 16 MiB");
    contents[count] = "bad \xFF";
    EXPECT_EQ(read_chats().bad.at(1), "2: message 1 has no UTF-8 text in \"content\"");
}

}  // namespace
}  // namespace swarm::data::parquet::test
