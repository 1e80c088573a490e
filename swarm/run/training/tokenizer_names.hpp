// The names of tokenizers that a run trains on its corpus.
// Threading: pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace swarm::run {

/// The N of "bpe:N", byte-level BPE with N tokens; nullopt for any other text.
std::optional<std::uint32_t> bpe_tokens(std::string_view tokenizer);

/// The N of "spm:N" or "bpe:N".
std::optional<std::uint32_t> trained_tokens(std::string_view tokenizer);

}  // namespace swarm::run
