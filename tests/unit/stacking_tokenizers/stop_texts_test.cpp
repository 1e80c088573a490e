#include "stacking/tokenizers/stop_texts.hpp"

#include <gtest/gtest.h>

namespace stacking::tokenizers {
namespace {

using Texts = std::vector<std::string>;

/// Returns the bytes that pass with each piece, and at the end.
Texts passed(const Texts& stops, const Texts& pieces) {
    StopTexts text(stops);
    Texts out;
    for (const std::string& piece : pieces) {
        out.push_back(text.push(piece));
    }
    out.push_back(text.finish());
    return out;
}

TEST(StopTexts, PassAllWithoutStopTexts) {
    EXPECT_EQ(passed({}, {"Hel", "lo"}), (Texts{"Hel", "lo", ""}));
    EXPECT_EQ(passed({""}, {"Hel", "lo"}), (Texts{"Hel", "lo", ""}));
}

TEST(StopTexts, EndTheTextWithinAPiece) {
    EXPECT_EQ(passed({"END"}, {"one END two", "three"}), (Texts{"one ", "", ""}));
}

TEST(StopTexts, EndTheTextAcrossPieces) {
    EXPECT_EQ(passed({"END"}, {"one E", "N", "D two", "x"}), (Texts{"one ", "", "", "", ""}));
}

TEST(StopTexts, GiveBackWhatBeganNoStopText) {
    EXPECT_EQ(passed({"END"}, {"one E", "N", "O"}), (Texts{"one ", "", "ENO", ""}));
    EXPECT_EQ(passed({"END"}, {"one EN"}), (Texts{"one ", "EN"})) << "the text ended there";
}

TEST(StopTexts, FindAStopTextThatBeginsWithinAWrongBeginning) {
    EXPECT_EQ(passed({"aab"}, {"a", "a", "a", "b"}), (Texts{"", "", "a", "", ""}));
    EXPECT_EQ(passed({"\n\nUser:"}, {"x\n", "\n", "\nUser", ":"}), (Texts{"x", "", "\n", "", ""}));
}

TEST(StopTexts, TheOneThatEndsFirstCountsHoweverTheBytesAreCut) {
    const Texts stops{"abcd", "bc"};
    for (const Texts& pieces :
         {Texts{"xabcdy"}, Texts{"xa", "bcd", "y"}, Texts{"x", "ab", "cdy"}}) {
        StopTexts text(stops);
        std::string all;
        for (const std::string& piece : pieces) {
            all += text.push(piece);
        }
        EXPECT_EQ(all + text.finish(), "xa");
        EXPECT_TRUE(text.is_found());
    }
    EXPECT_EQ(passed({"bc", "abc"}, {"xabc"}), (Texts{"x", ""})) << "both end there";
}

}  // namespace
}  // namespace stacking::tokenizers
