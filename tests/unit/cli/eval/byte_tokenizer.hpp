// A tokenizer whose token i is byte i, as that of runs that name no other, of as many bytes as a
// test wants.
#pragma once

#include "stacking/tokenizers/byte_alphabet.hpp"
#include "stacking/tokenizers/model_tokenizer.hpp"

#include <cstdint>
#include <utility>

namespace swarm::cli::test {

inline stacking::tokenizers::ModelTokenizer byte_tokenizer(unsigned tokens = 256) {
    stacking::tokenizers::Vocabulary vocabulary;
    for (unsigned byte = 0; byte < tokens; ++byte) {
        vocabulary.tokens.push_back(
            stacking::tokenizers::letter_of(static_cast<std::uint8_t>(byte))
        );
    }
    return stacking::tokenizers::ModelTokenizer(
        *stacking::tokenizers::ByteBpe::make(std::move(vocabulary))
    );
}

}  // namespace swarm::cli::test
