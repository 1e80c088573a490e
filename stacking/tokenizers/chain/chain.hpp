// A tokenizer's chain as data: what happens to a text before and after the model, whatever file it
// came from.
// Threading: data. Errors: none.
#pragma once

#include "stacking/tokenizers/chain/normalizer.hpp"
#include "stacking/tokenizers/chain/pre_tokenizer.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace stacking::tokenizers {

/// The signs in which the tokens of the model are written: letters that stand for bytes, or
/// characters.
enum class Alphabet { Bytes, Characters };

struct Chain {
    std::vector<NormalizerStep> normalizer;
    std::vector<PreTokenizerStep> pre_tokenizer;
    Alphabet alphabet = Alphabet::Characters;

    // Tokens that belong before and after a whole text. Callers put them there, once.
    std::vector<std::uint32_t> begin_tokens;
    std::vector<std::uint32_t> end_tokens;

    // How a token becomes text.
    std::vector<std::pair<std::string, std::string>> decoded;  // text in a token, and what it means
    bool decodes_bytes = false;                                // <0x0A> is a line feed
    std::size_t dropped_spaces = 0;  // spaces that encoding put before a text
};

}  // namespace stacking::tokenizers
