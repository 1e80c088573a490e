#include "swarm/cli/answer/text_sources.hpp"

#include "tests/unit/cli/eval/byte_tokenizer.hpp"
#include "tests/unit/net/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <fstream>

namespace swarm::cli {
namespace {

namespace fs = std::filesystem;
using stacking::TokenId;
using test::byte_tokenizer;

class TextSourcesTest : public testing::Test {
 protected:
    std::string write(const std::string& name, const std::string& text) {
        const fs::path path = folder.path() / name;
        fs::create_directories(path.parent_path());
        std::ofstream(path, std::ios::binary) << text;
        return path.string();
    }

    swarm::test::TemporaryFolder folder;
};

TEST_F(TextSourcesTest, AFolderIsItsFilesByName) {
    const std::string other = write("z.txt", "z");
    write("texts/b.txt", "b");
    write("texts/a/c.txt", "c");
    write("texts/empty.txt", "");
    write("texts/.hidden", "h");
    write("texts/.git/config", "g");
    const fs::path texts = folder.path() / "texts";
    const auto found = find_sources({other, texts.string()});
    ASSERT_TRUE(found.has_value());
    const std::vector<fs::path> expected{other, texts / "a" / "c.txt", texts / "b.txt"};
    EXPECT_EQ(*found, expected);
}

TEST_F(TextSourcesTest, AFolderWithoutTextsIsRefused) {
    write("texts/empty.txt", "");
    const auto found = find_sources({(folder.path() / "texts").string()});
    ASSERT_FALSE(found.has_value());
    EXPECT_NE(found.error().detail.find("no text"), std::string::npos);
}

TEST_F(TextSourcesTest, AFileThatIsNoTextIsRefusedByName) {
    const auto tokenizer = byte_tokenizer(128);
    const auto refused = [&](const fs::path& file, const std::string& why) {
        const auto source = read_source(file, tokenizer);
        ASSERT_FALSE(source.has_value());
        EXPECT_NE(source.error().detail.find(file.string()), std::string::npos);
        EXPECT_NE(source.error().detail.find(why), std::string::npos) << source.error().detail;
    };
    refused(write("empty.txt", ""), "the text is empty");
    refused(folder.path() / "none.txt", "cannot read");
    refused(write("high.txt", "\xff\xfe"), "no byte of the text has a token");
}

TEST_F(TextSourcesTest, ATextComesAsTokens) {
    const auto source = read_source(write("a.txt", "abc"), byte_tokenizer());
    ASSERT_TRUE(source.has_value());
    EXPECT_EQ(source->text, "abc");
    EXPECT_EQ(source->encoded.tokens, (std::vector<TokenId>{'a', 'b', 'c'}));
    EXPECT_EQ(source->encoded.lost, 0U);
}

TEST(EncodedText, BytesThatAreNoUtf8AreTheirOwnTokens) {
    const std::string text = "a\xff\xc3\xa4\x80z\xe2\x82";
    const auto whole = encode_text(byte_tokenizer(), text);
    ASSERT_TRUE(whole.has_value());
    EXPECT_EQ(
        whole->tokens, (std::vector<TokenId>{'a', 0xff, 0xc3, 0xa4, 0x80, 'z', 0xe2, 0x82})
    );
    EXPECT_EQ(whole->lost, 0U);
    const auto ascii = encode_text(byte_tokenizer(128), text);
    ASSERT_TRUE(ascii.has_value());
    EXPECT_EQ(ascii->tokens, (std::vector<TokenId>{'a', 'z'}));
    EXPECT_EQ(ascii->lost, 6U);
}

}  // namespace
}  // namespace swarm::cli
