#include "stacking/tokenizers/byte_alphabet.hpp"

#include <gtest/gtest.h>

#include <set>

namespace stacking::tokenizers {
namespace {

TEST(ByteAlphabet, EveryByteHasALetterOfItsOwn) {
    std::set<std::string> letters;
    for (unsigned byte = 0; byte < 256; ++byte) {
        const std::string& letter = letter_of(static_cast<std::uint8_t>(byte));
        EXPECT_TRUE(letters.insert(letter).second);
        EXPECT_EQ(to_bytes(letter), std::string(1, static_cast<char>(byte)));
    }
    EXPECT_EQ(letter_of(' '), "Ġ");
    EXPECT_EQ(letter_of('\n'), "Ċ");
    EXPECT_EQ(letter_of(0), "Ā");
    EXPECT_EQ(letter_of(0xad), "Ń");  // last byte that is not printable
    EXPECT_EQ(letter_of(0xff), "ÿ");
}

TEST(ByteAlphabet, OtherCharactersAreRefused) {
    EXPECT_EQ(to_bytes("ĠaĊ"), " a\n");
    EXPECT_EQ(to_bytes(""), "");
    for (const char* const text : {" ", "a b", "€", "ń", "\xff", "Ġ\xc4"}) {
        EXPECT_FALSE(to_bytes(text).has_value()) << text;
    }
}

}  // namespace
}  // namespace stacking::tokenizers
