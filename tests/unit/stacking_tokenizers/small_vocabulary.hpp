// A vocabulary of the 256 bytes, a few merges and two special tokens.
#pragma once

#include "stacking/tokenizers/byte_alphabet.hpp"
#include "stacking/tokenizers/vocabulary.hpp"

namespace stacking::tokenizers::test {

/// Ids 0 to 255 are the bytes; the results of the merges follow, then "<s>" and "<s>>".
inline Vocabulary small_vocabulary() {
    Vocabulary vocabulary;
    for (unsigned byte = 0; byte < 256; ++byte) {
        vocabulary.tokens.push_back(letter_of(static_cast<std::uint8_t>(byte)));
    }
    const std::vector<std::pair<std::string, std::string>> merges{
        {"a", "b"}, {"b", "c"}, {"ab", "c"}, {"a", "a"}, {"aa", "aa"}, {letter_of(' '), "x"}};
    for (const auto& [left, right] : merges) {
        vocabulary.merges.emplace_back(left, right);
        vocabulary.tokens.push_back(left + right);
    }
    for (const char* const special : {"<s>", "<s>>"}) {
        vocabulary.special_tokens.push_back(static_cast<std::uint32_t>(vocabulary.tokens.size()));
        vocabulary.tokens.emplace_back(special);
    }
    return vocabulary;
}

}  // namespace stacking::tokenizers::test
