#include "swarm/data/utf8.hpp"

#include <gtest/gtest.h>

#include <string>

namespace swarm::data {
namespace {

/// Judges the text in two pieces, for every place of the cut: all answers must be the same.
bool is_valid(const std::string& text) {
    bool first = false;
    for (std::size_t cut = 0; cut <= text.size(); ++cut) {
        Utf8Check check;
        const bool added =
            check.add(std::string_view(text).substr(0, cut)) && check.add(text.substr(cut));
        const bool valid = added && check.finish();
        first = cut == 0 ? valid : first;
        EXPECT_EQ(valid, first) << "cut at " << cut;
    }
    return first;
}

TEST(Utf8Check, TakesEveryLengthOfCharacter) {
    EXPECT_TRUE(is_valid(""));
    EXPECT_TRUE(is_valid("plain text that is longer than eight bytes"));
    EXPECT_TRUE(is_valid("12345678\xC3\xA9 12345678"));
    EXPECT_TRUE(is_valid("\xDF\xBF \xE0\xA0\x80 \xEF\xBF\xBF \xF0\x90\x80\x80 \xF4\x8F\xBF\xBF"));
}

TEST(Utf8Check, RefusesWhatTheStandardRefuses) {
    for (const char* const text : {
             "\x80",              // begins with a continuation
             "\xC1\xBF",          // too long a form of a letter
             "\xE0\x9F\xBF",      // too long a form
             "\xED\xA0\x80",      // half a pair
             "\xF0\x8F\xBF\xBF",  // too long a form
             "\xF4\x90\x80\x80",  // above the last character
             "\xF5\x80\x80\x80",  // above the last character
             "\xC3(",             // no continuation
             "\xE2\x82",          // ends early
             "12345678\xFF"       // no byte of UTF-8
         }) {
        EXPECT_FALSE(is_valid(text)) << text;
    }
}

TEST(PieceEnd, CutsBehindALineElseBetweenCharacters) {
    EXPECT_EQ(piece_end("abc", 4), 3U);
    EXPECT_EQ(piece_end("ab\ncdef", 5), 3U);
    EXPECT_EQ(piece_end("abcd\nef", 5), 5U);
    EXPECT_EQ(piece_end("abcdefgh", 5), 5U);
    EXPECT_EQ(piece_end("abc\xF0\x9F\x98\x80x", 4), 3U);
    EXPECT_EQ(piece_end("abc\xF0\x9F\x98\x80x", 6), 3U);
    EXPECT_EQ(piece_end("abc\xF0\x9F\x98\x80x", 7), 7U);
}

TEST(PieceEnd, AlwaysTakesSomeBytes) {
    EXPECT_EQ(piece_end(std::string(20, '\x80'), 5), 5U);
}

}  // namespace
}  // namespace swarm::data
