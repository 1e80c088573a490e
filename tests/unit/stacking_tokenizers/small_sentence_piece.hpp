// A tokenizer.model as others train it: byte fallback, and a space before each text.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace stacking::tokenizers::test {

/// Changes that make the file another one.
struct PieceFileChanges {
    char model = 2;           // BPE
    std::string characters{};  // a table of characters to replace
    bool folds_spaces = false;
};

/// Ids 0 to 2 are <unk>, <s> and </s>; then come U+2581, "a", "b", "ab", and U+2581 with "a".
inline std::string small_sentence_piece(const PieceFileChanges& changes = {}) {
    using namespace std::string_literals;
    const auto field = [](char key, const std::string& bytes) {
        return std::string(1, key) + static_cast<char>(bytes.size()) + bytes;
    };
    const std::vector<std::pair<std::string, char>> pieces{
        {"<unk>", '\2'},
        {"<s>", '\3'},
        {"</s>", '\3'},
        {"\xE2\x96\x81", '\1'},
        {"a", '\1'},
        {"b", '\1'},
        {"ab", '\1'},
        {"\xE2\x96\x81" "a", '\1'}};
    std::string file;
    char minus = '\0';
    for (const auto& [piece, type] : pieces) {
        // A score of -2.0, -2.03, ...: earlier pieces are made first.
        const std::string score = "\x15\x00"s + minus + "\x00\xc0"s;
        file += field('\x0a', field('\x0a', piece) + score + "\x18"s + type);
        ++minus;
    }
    file += field('\x12', "\x18"s + changes.model + "\x98\x02\x01"s);
    file += field(
        '\x1a',
        field('\x12', changes.characters) + "\x18\x01\x20"s + (changes.folds_spaces ? '\1' : '\0')
    );
    return file;
}

}  // namespace stacking::tokenizers::test
