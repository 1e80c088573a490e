// The changes that a tokenizer makes to a text before it cuts it into words.
// Invariant: the result is UTF-8.
// Threading: const and any thread. Errors: TooLarge (a text that grows too long; see Pattern);
// Reject. REQUIRES: the text is UTF-8. Cost: one pass per step.
// Source: tokenizers (normalizers). NFC is utf8proc's, which knows Unicode 15.
#pragma once

#include "stacking/tokenizers/chain/pattern.hpp"
#include "swarm/base/result.hpp"

#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace stacking::tokenizers {

/// Puts a text before each text that is not empty.
struct PrependText {
    std::string text;
};

struct ReplaceMatches {
    Pattern pattern;
    std::string text;
};

/// Composes characters and their marks: Unicode's normal form C.
struct ComposeCharacters {};

using NormalizerStep = std::variant<PrependText, ReplaceMatches, ComposeCharacters>;

/// Maximum bytes of a text that has been changed. A text of 16 MiB may have spaces of 3 bytes.
inline constexpr std::size_t kChangedBytesMax = 64U << 20;

/// All parts of a text together may become so many times as long, and so many bytes longer.
inline constexpr std::size_t kChangedBytesPerByte = 16;
inline constexpr std::size_t kChangedBytesMore = 4096;

swarm::Result<std::string> normalize(
    const std::vector<NormalizerStep>& steps, std::string_view text, SearchBudget& budget
);

}  // namespace stacking::tokenizers
