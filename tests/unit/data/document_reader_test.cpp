#include "swarm/data/document_reader.hpp"

#include "tests/unit/data/data_bed.hpp"

namespace swarm::data::test {
namespace {

struct ReadPiece {
    std::string text;
    bool begins = true;
    bool ends = true;
    InputPlace before{};

    bool operator==(const ReadPiece&) const = default;
};

class DocumentReaderTest : public DataBed {
 protected:
    [[nodiscard]] std::vector<InputFile> files(std::vector<std::string> paths) const {
        auto found = find_input_files({"prose", std::move(paths)}, folder.path() / "in");
        EXPECT_TRUE(found) << found.error().detail;
        return found->files;
    }

    /// Reads all; bad lines go to `bad`.
    std::vector<ReadPiece> read(const std::vector<InputFile>& from, InputPlace place = {}) {
        bad.clear();
        std::vector<ReadPiece> pieces;
        DocumentReader reader(from, "text", place);
        while (true) {
            const auto item = reader.next();
            if (item.has_error()) {
                ADD_FAILURE() << item.error().detail;
                return pieces;
            }
            if (!*item) {
                return pieces;
            }
            if (const auto* const line = std::get_if<BadLine>(&**item)) {
                bad.push_back(
                    line->file.filename().string() + ":" + std::to_string(line->line) + ": " +
                    line->reason
                );
            } else {
                const Piece& piece = std::get<Piece>(**item);
                pieces.push_back({std::string(piece.text), piece.begins, piece.ends, piece.before});
            }
        }
    }

    std::vector<std::string> read_texts(const std::string& path) {
        std::vector<std::string> texts;
        for (const ReadPiece& piece : read(files({path}))) {
            texts.push_back(piece.text);
        }
        return texts;
    }

    std::vector<std::string> bad;
};

using Texts = std::vector<std::string>;

TEST_F(DocumentReaderTest, EachLineIsADocument) {
    const std::string lines = "\xEF\xBB\xBF{\"text\":\"one\"}\n\n  \r\n" +
                              std::string(R"({"id":[1,{"a":2}],"text":"tw\u00f6\n2"})") + "\r\n" +
                              R"({"text":""})" + "\n" + R"({"text":"last"})";
    write("a.jsonl", lines);
    write("b.jsonl.gz", gzip(lines));
    write("c.jsonl.zst", zstd(lines));
    for (const char* const name : {"a.jsonl", "b.jsonl.gz", "c.jsonl.zst"}) {
        EXPECT_EQ(read_texts(name), (Texts{"one", "tw\xC3\xB6\n2", "", "last"})) << name;
        EXPECT_EQ(bad, Texts{}) << name;
    }
}

TEST_F(DocumentReaderTest, BadLinesAreNamedAndTheOthersRead) {
    write(
        "a.jsonl",
        json_line("one") + "no json\n" + "[1]\n" + R"({"body":"x"})" + "\n" + R"({"text":7})" +
            "\n" + "{\"text\":\"bad \xFF\"}\n" + R"({"text":"a"} x)" + "\n" + json_line("two") +
            R"({"text":"cut in mid-li)"
    );
    EXPECT_EQ(read_texts("a.jsonl"), (Texts{"one", "two"}));
    ASSERT_EQ(bad.size(), 7U);
    EXPECT_TRUE(bad[0].starts_with("a.jsonl:2: is no JSON: ")) << bad[0];
    EXPECT_EQ(bad[1], "a.jsonl:3: is no JSON object");
    EXPECT_EQ(bad[2], "a.jsonl:4: has no field \"text\"");
    EXPECT_EQ(bad[3], "a.jsonl:5: has no text in the field \"text\"");
    EXPECT_EQ(bad[4], "a.jsonl:6: is no UTF-8 text");
    EXPECT_TRUE(bad[5].starts_with("a.jsonl:7: is no JSON: ")) << bad[5];
    EXPECT_TRUE(bad[6].starts_with("a.jsonl:9: is no JSON: incomplete")) << bad[6];
}

TEST_F(DocumentReaderTest, ALineIsBounded) {
    const std::string most = json_line(std::string(kLineBytesMax - 11, 'a'));
    ASSERT_EQ(most.size(), kLineBytesMax + 1);  // with its line feed
    write("a.jsonl", json_line("one") + most + "x" + most + json_line("two"));
    const auto texts = read_texts("a.jsonl");
    ASSERT_EQ(texts.size(), 3U);
    EXPECT_EQ(texts[1].size(), kLineBytesMax - 11);
    EXPECT_EQ(texts[2], "two");
    EXPECT_EQ(bad, Texts{"a.jsonl:3: has more than 16 MiB"});
}

TEST_F(DocumentReaderTest, TheRestOfADamagedFileIsOneBadLine) {
    const std::string packed = gzip(json_line("one") + json_line("two"));
    write("a.jsonl.gz", packed.substr(0, packed.size() - 4));
    write("b.jsonl", json_line("three"));
    std::vector<std::string> texts;
    for (const ReadPiece& piece : read(files({"."}))) {
        texts.push_back(piece.text);
    }
    EXPECT_EQ(texts.back(), "three");
    ASSERT_EQ(bad.size(), 1U);
    EXPECT_NE(bad[0].find("the gzip file ends early"), std::string::npos) << bad[0];
}

TEST_F(DocumentReaderTest, AFileIsADocumentInPieces) {
    std::string long_text;
    while (long_text.size() < 3 * kPieceBytesMax) {
        long_text += "line " + std::to_string(long_text.size()) + "\n";
    }
    write("a.txt", "\xEF\xBB\xBFshort");
    write("b.md", "");
    write("c.txt", long_text);
    write("d.txt", std::string(kPieceBytesMax, 'x'));
    write("e.txt", std::string(kPieceBytesMax + 1, 'x'));
    write("f.txt", "bad \xFF");
    const auto pieces = read(files({"."}));
    EXPECT_EQ(bad, Texts{"f.txt:0: is no UTF-8 text"});
    std::vector<std::string> documents;
    for (const ReadPiece& piece : pieces) {
        EXPECT_EQ(piece.begins, !piece.before.within);
        EXPECT_LE(piece.text.size(), kPieceBytesMax);
        if (piece.begins) {
            documents.emplace_back();
        }
        documents.back() += piece.text;
    }
    ASSERT_EQ(documents.size(), 4U);
    EXPECT_EQ(documents[0], "short");
    EXPECT_TRUE(documents[1] == long_text);
    EXPECT_EQ(documents[2].size(), kPieceBytesMax);
    EXPECT_EQ(documents[3].size(), kPieceBytesMax + 1);
    EXPECT_EQ(pieces.size(), 8U);  // 1 + 4 + 1 + 2
    EXPECT_TRUE(pieces[1].text.ends_with("\n"));
}

TEST_F(DocumentReaderTest, ReadingFromAPlaceGivesTheRest) {
    std::string lines = "\xEF\xBB\xBF";
    for (int i = 0; i < 40; ++i) {
        lines += i % 7 == 3 ? "bad line\n" : json_line("document " + std::to_string(i));
    }
    write("a.jsonl", lines);
    write("b.jsonl.gz", gzip(lines));
    write("c.txt", std::string(2 * kPieceBytesMax + 10, 'y'));
    write("d.jsonl.zst", zstd(lines));
    const auto from = files({"."});
    const auto all = read(from);
    const auto all_bad = bad;
    ASSERT_EQ(all.size(), 3 * 34U + 3U);
    for (std::size_t i = 0; i < all.size(); ++i) {
        const auto rest = read(from, all[i].before);
        ASSERT_TRUE(rest == std::vector(all.begin() + static_cast<std::ptrdiff_t>(i), all.end()))
            << "from piece " << i;
        EXPECT_TRUE(std::equal(bad.rbegin(), bad.rend(), all_bad.rbegin())) << "from piece " << i;
    }
}

}  // namespace
}  // namespace swarm::data::test
