#include "stacking/tokenizers/sentence_piece.hpp"

#include "swarm/base/rng.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace stacking::tokenizers {
namespace {

using swarm::ErrorCode;
using swarm::Rng;

/// Random words of a few letters each, enough for a few hundred tokens.
std::string prose(std::size_t lines) {
    Rng rng(7, 0);
    std::string text;
    for (std::size_t line = 0; line < lines; ++line) {
        for (std::uint32_t word = 0; word < 9; ++word) {
            for (std::uint64_t letter = 1 + rng.below(6); letter > 0; --letter) {
                text += static_cast<char>('a' + rng.below(26) * rng.below(26) / 26);
            }
            text += word == 8 ? '\n' : ' ';
        }
    }
    return text;
}

const SentencePiece& trained() {
    static const SentencePiece tokenizer = *SentencePiece::train(prose(400), 400);
    return tokenizer;
}

std::string there_and_back(const std::string& text) {
    const auto ids = trained().encode(text);
    EXPECT_TRUE(ids.has_value());
    const auto back = trained().decode(*ids);
    EXPECT_TRUE(back.has_value());
    return *back;
}

TEST(SentencePiece, HasExactlyTheTokensThatWereAskedFor) {
    EXPECT_EQ(trained().size(), 400U);
    const std::string text = prose(40);
    EXPECT_LT(trained().encode(text)->size(), text.size() * 3 / 4);
}

TEST(SentencePiece, GivesEveryTextBack) {
    const std::string texts[] = {
        "",
        " ",
        "  two  spaces, then a tab\tand a line's end\r\n\r\n  x ",
        "na\xC3\xAFve \xE6\xBC\xA2\xE5\xAD\x97 \xF0\x9F\x98\x80 \xEF\xAC\x81",
        "the library's own space \xE2\x96\x81 and unknown \xE2\x96\x85 \xE2\x81\x87",
        "<unk> <s> <0x41> \xEF\xBF\xBD",
        std::string("a\0b\x7F", 4),
        "cut short \xE2\x96",
        "never UTF-8 \xFF\xC0\x80\xED\xA0\x80 end",
        std::string(10'000, 'a') + std::string(5'000, ' '),
    };
    for (const std::string& text : texts) {
        EXPECT_EQ(there_and_back(text), text);
    }
    std::string all_bytes;
    for (int byte = 0; byte < 256; ++byte) {
        all_bytes += static_cast<char>(byte);
    }
    EXPECT_EQ(there_and_back(all_bytes), all_bytes);
    Rng rng(11, 0);
    for (int round = 0; round < 200; ++round) {
        std::string text;
        for (std::uint64_t left = rng.below(60); left > 0; --left) {
            text += static_cast<char>(rng.below(256));
        }
        EXPECT_EQ(there_and_back(text), text) << "round " << round;
    }
}

TEST(SentencePiece, TextWithoutAPieceBecomesItsBytes) {
    const auto ids = trained().encode("\xE6\xBC\xA2");
    ASSERT_TRUE(ids.has_value());
    EXPECT_EQ(ids->size(), 3U);
    // Any piece of a text may end within a character.
    EXPECT_EQ(*trained().decode(std::span(*ids).first(1)), "\xE6");
}

TEST(SentencePiece, NoTokenSpansTwoLines) {
    const auto whole = trained().encode("some words\nand more");
    auto parts = *trained().encode("some words\n");
    const auto second = *trained().encode("and more");
    parts.insert(parts.end(), second.begin(), second.end());
    EXPECT_EQ(*whole, parts);
}

TEST(SentencePiece, IsTheSameFileEachTimeItIsTrained) {
    const auto again = SentencePiece::train(prose(400), 400);
    ASSERT_TRUE(again.has_value());
    EXPECT_EQ(again->file(), trained().file());
    EXPECT_EQ(again->sha256(), trained().sha256());
    const auto other = SentencePiece::train(prose(400), 401);
    ASSERT_TRUE(other.has_value());
    EXPECT_NE(other->sha256(), trained().sha256());
}

TEST(SentencePiece, ItsFileReadBackGivesTheSameTokens) {
    const auto read = SentencePiece::parse(trained().file());
    ASSERT_TRUE(read.has_value());
    EXPECT_EQ(read->size(), trained().size());
    EXPECT_EQ(*read->encode(prose(3)), *trained().encode(prose(3)));
}

TEST(SentencePiece, RefusesATextThatDoesNotGiveSoManyTokens) {
    struct Case {
        std::string text;
        std::uint32_t tokens;
    };

    const Case cases[] = {
        {prose(400), 0},
        {prose(400), 200},
        {prose(2), 2000},
        {"", 400},
        {"\n\n\xFF\n", 400},
    };
    for (const Case& one : cases) {
        const auto made = SentencePiece::train(one.text, one.tokens);
        ASSERT_TRUE(made.has_error()) << one.tokens;
        EXPECT_EQ(made.error().code, ErrorCode::Mismatch);
        EXPECT_EQ(made.error().detail.find('\n'), std::string::npos) << made.error().detail;
        EXPECT_EQ(made.error().detail.find(".cc"), std::string::npos) << made.error().detail;
    }
}

TEST(SentencePiece, RefusesMoreTokensThanAnIdCanName) {
    for (const std::uint32_t tokens : {65'537U, 1'000'000'000U}) {
        EXPECT_EQ(SentencePiece::train(prose(2), tokens).error().code, ErrorCode::TooLarge);
    }
}

TEST(SentencePiece, RefusesADamagedFile) {
    const std::string& good = trained().file();
    EXPECT_EQ(SentencePiece::parse("").error().code, ErrorCode::Malformed);
    EXPECT_EQ(SentencePiece::parse("garbage").error().code, ErrorCode::Malformed);
    EXPECT_EQ(
        SentencePiece::parse(std::string(SentencePiece::kFileBytesMax + 1, 'x')).error().code,
        ErrorCode::TooLarge
    );
    for (std::size_t bytes = 0; bytes < good.size(); bytes += 97) {
        EXPECT_TRUE(SentencePiece::parse(good.substr(0, bytes)).has_error()) << bytes;
    }
    Rng rng(3, 0);
    for (int round = 0; round < 300; ++round) {
        std::string damaged = good;
        damaged[rng.below(damaged.size())] = static_cast<char>(rng.below(256));
        const auto read = SentencePiece::parse(damaged);  // a letter may have become another one
        if (read.has_value()) {
            EXPECT_TRUE(read->encode(prose(2)).has_value()) << "round " << round;
        }
    }
}

TEST(SentencePiece, RefusesTokenizersThatChangeTexts) {
    // Field 3 says how texts are normalised. In it, field 2 is a table of characters, and field 3
    // puts a space before a text. When a file has field 3 twice, the later one counts.
    const std::string table = trained().file() + std::string("\x1A\x06\x12\x04\x00\x00\x00\x00", 8);
    EXPECT_EQ(SentencePiece::parse(table).error().code, ErrorCode::Malformed);
    const std::string space_before = trained().file() + "\x1A\x02\x18\x01";
    EXPECT_EQ(SentencePiece::parse(space_before).error().code, ErrorCode::Unsupported);
}

TEST(SentencePiece, RefusesUnknownIds) {
    const std::uint32_t beyond[] = {400};
    EXPECT_EQ(trained().decode(beyond).error().code, ErrorCode::Mismatch);
}

}  // namespace
}  // namespace stacking::tokenizers
