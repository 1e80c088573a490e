#include "stacking/tokenizers/utf8.hpp"

#include <gtest/gtest.h>

namespace stacking::tokenizers {
namespace {

constexpr std::string_view kReplacement = "\xef\xbf\xbd";

std::string stream_in_pieces(std::string_view bytes, std::size_t piece_bytes) {
    Utf8Stream stream;
    std::string text;
    for (std::size_t at = 0; at < bytes.size(); at += piece_bytes) {
        const std::string piece = stream.push(bytes.substr(at, piece_bytes));
        EXPECT_EQ(utf8_prefix(piece), piece.size());
        text += piece;
    }
    return text + stream.finish();
}

TEST(Utf8, TellsCharactersFromOtherBytes) {
    for (const std::string_view good :
         {"",
          "a",
          "\x7f",
          "\xc2\x80",
          "\xdf\xbf",
          "\xe0\xa0\x80",
          "\xed\x9f\xbf",
          "\xee\x80\x80",
          "\xf0\x90\x80\x80",
          "\xf4\x8f\xbf\xbf"}) {
        EXPECT_EQ(utf8_prefix(good), good.size());
    }
    for (const std::string_view bad :
         {"\x80",
          "\xc0\x80",
          "\xc1\xbf",
          "\xe0\x9f\xbf",
          "\xed\xa0\x80",
          "\xf0\x8f\xbf\xbf",
          "\xf4\x90\x80\x80",
          "\xf5\x80\x80\x80",
          "\xff",
          "\xc2",
          "\xe2\x82",
          "\xf0\x9f\x98"}) {
        EXPECT_EQ(utf8_prefix(std::string("ab") + std::string(bad)), 2U);
    }
}

TEST(Utf8Stream, HoldsACharacterBackUntilItIsWhole) {
    Utf8Stream stream;
    EXPECT_EQ(stream.push("a\xf0"), "a");
    EXPECT_EQ(stream.push("\x9f\x98"), "");
    EXPECT_EQ(stream.push("\x80z"), "\xf0\x9f\x98\x80z");
    EXPECT_EQ(stream.finish(), "");
}

TEST(Utf8Stream, BytesThatBecomeNoCharacterAreReplaced) {
    Utf8Stream stream;
    EXPECT_EQ(stream.push("\xe2\x82"), "");
    EXPECT_EQ(stream.push("a"), std::string(kReplacement) + "a");
    EXPECT_EQ(stream.push("\xe2\x82"), "");
    EXPECT_EQ(stream.finish(), kReplacement);
    EXPECT_EQ(stream.push("b"), "b");  // the next text starts empty
}

TEST(Utf8Stream, TheTextDoesNotDependOnThePieces) {
    const std::string bytes =
        "h\xc3\xa9 \xf0\x9f\x98\x80\xff\xe2\x82\xe2\x82\xac\xc3\xed\xa0\x80z\xf0";
    const std::string whole = stream_in_pieces(bytes, bytes.size());
    // The parts are é, the emoji, ff, e2 82, €, c3, then ed, a0 and 80 one by one, z, f0.
    EXPECT_EQ(
        whole,
        "h\xc3\xa9 \xf0\x9f\x98\x80" + std::string(kReplacement) + std::string(kReplacement) +
            "\xe2\x82\xac" + std::string(kReplacement) + std::string(kReplacement) +
            std::string(kReplacement) + std::string(kReplacement) + "z" + std::string(kReplacement)
    );
    for (std::size_t piece = 1; piece < bytes.size(); ++piece) {
        EXPECT_EQ(stream_in_pieces(bytes, piece), whole) << piece;
    }
}

}  // namespace
}  // namespace stacking::tokenizers
