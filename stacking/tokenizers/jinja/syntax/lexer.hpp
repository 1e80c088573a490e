// A template's text as tokens, with Jinja's rules of white space: trim_blocks and lstrip_blocks are
// on, the line feed at the end of the text is dropped, comments are gone.
// Invariant: a text between statements is one Data token; after it come the tokens of one {{ }} or
// {% %}, between a Begin and an End.
// Threading: pure function. Errors: Malformed with the line; TooLarge. Cost: one pass.
// Source: the rules are those of Jinja 3.1 (jinja2/lexer.py); the code is own.
#pragma once

#include "stacking/tokenizers/jinja/failure.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace stacking::tokenizers::jinja {

struct Token {
    enum class Kind : std::uint8_t {
        Data,
        BlockBegin,
        BlockEnd,
        PrintBegin,
        PrintEnd,
        Name,
        Text,  // a literal; its escapes are read
        Integer,
        Real,
        Operator,
        End,
    };

    Kind kind = Kind::End;
    std::string text{};
    std::uint32_t line = 0;
};

/// The last token is an End.
Result<std::vector<Token>> read_tokens(std::string_view text);

}  // namespace stacking::tokenizers::jinja
