#include "stacking/tokenizers/word_splitter.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace stacking::tokenizers {
namespace {

using Pieces = std::vector<std::string>;

Pieces split(std::string_view text) {
    static const WordSplitter splitter;
    Pieces pieces;
    const auto done =
        splitter.split(text, [&](std::string_view piece) { pieces.emplace_back(piece); });
    EXPECT_TRUE(done.has_value()) << done.error().detail;
    return pieces;
}

TEST(WordSplitter, SplitsAsGpt2Does) {
    EXPECT_EQ(split("Hello, world!"), (Pieces{"Hello", ",", " world", "!"}));
    EXPECT_EQ(split("it's they'll I'D"), (Pieces{"it", "'s", " they", "'ll", " I", "'", "D"}));
    EXPECT_EQ(split("a  b\n\n c"), (Pieces{"a", " ", " b", "\n\n", " c"}));
    EXPECT_EQ(split("end   "), (Pieces{"end", "   "}));
    EXPECT_EQ(split(""), Pieces{});
}

TEST(WordSplitter, EachNumberCharacterIsAPieceOfItsOwn) {
    EXPECT_EQ(split("in 1984"), (Pieces{"in", " ", "1", "9", "8", "4"}));
    EXPECT_EQ(split("x²½Ⅷ①٣３"), (Pieces{"x", "²", "½", "Ⅷ", "①", "٣", "３"}));
}

TEST(WordSplitter, TheLookAheadEndsAtANumber) {
    EXPECT_EQ(split("   7"), (Pieces{"   ", "7"}));
    EXPECT_EQ(split("   x"), (Pieces{"  ", " x"}));
}

TEST(WordSplitter, WhiteSpaceIsThatOfUnicode) {
    // A run of White_Space stays together, and unlike " " its last character does not join the
    // word.
    for (const char* const space :
         {"\t",
          "\v",
          "\f",
          "\r",
          "\u0085",
          "\u00a0",
          "\u1680",
          "\u2003",
          "\u2028",
          "\u2029",
          "\u202f",
          "\u205f",
          "\u3000"}) {
        EXPECT_EQ(split(std::string("a") + space + space + "b"), (Pieces{"a", space, space, "b"}));
    }
    // Neither the zero width space nor the Mongolian vowel separator is white space.
    for (const char* const other : {"\u200b", "\u180e"}) {
        EXPECT_EQ(
            split(std::string("a") + other + other + "b"),
            (Pieces{"a", std::string(other) + other, "b"})
        );
    }
}

TEST(WordSplitter, SplitsLongRuns) {
    for (const char* const run : {" ", "a", "!", "7", "\n", "'"}) {
        std::string text;
        for (std::size_t i = 0; i < 1'000'000; ++i) {
            text += run;
        }
        std::string joined;
        for (const std::string& piece : split(text + "x")) {
            joined += piece;
        }
        EXPECT_EQ(joined, text + "x");
    }
}

}  // namespace
}  // namespace stacking::tokenizers
