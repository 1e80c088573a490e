// Cuts text into the pieces within which byte-pair merges may happen, as SmolLM2 does: first every
// single number character (\p{N}) by itself; then each part between them by GPT-2's expression. Its
// look-ahead sees its own part only: "   7" is three spaces and "7".
// Invariant: the pieces, in order, are the whole text. White space is Unicode's White_Space, which
// is not PCRE2's \s (that has U+180E, too).
// Deviation: PCRE2 10.42 knows Unicode 14; the 9,405 letters and numbers since then are signs.
// Threading: const and any thread. Errors: TooLarge when PCRE2 gives up; Reject. Cost: linear.
// Source: tokenizers (Digits, ByteLevel); llama.cpp's "smollm" has the same two expressions.
#pragma once

#include "swarm/base/result.hpp"

#include <functional>
#include <memory>
#include <string_view>

namespace stacking::tokenizers {

class WordSplitter {
 public:
    WordSplitter();
    WordSplitter(WordSplitter&&) noexcept;
    WordSplitter& operator=(WordSplitter&&) noexcept;
    ~WordSplitter();

    using Take = std::function<void(std::string_view piece)>;

    /// `text` is UTF-8.
    [[nodiscard]] swarm::Result<> split(std::string_view text, const Take& take) const;

 private:
    struct Patterns;
    std::unique_ptr<const Patterns> patterns_;
};

}  // namespace stacking::tokenizers
