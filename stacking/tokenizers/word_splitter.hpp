// Cuts text into the pieces within which byte-pair merges may happen, as SmolLM2 does. First every
// number character (\p{N}) becomes a piece; then GPT-2's expression cuts each part between them.
// Its look-ahead sees only its own part: "   7" is three spaces and "7".
// Invariant: the pieces, in order, are the whole text. White space is Unicode's White_Space, which
// is not PCRE2's \s (\s has U+180E, too).
// Deviation: PCRE2 10.42 knows Unicode 14; it takes the 9,405 letters and numbers added since then
// for signs.
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

    /// Calls `take` with each piece. REQUIRES: `text` is UTF-8.
    [[nodiscard]] swarm::Result<> split(std::string_view text, const Take& take) const;

 private:
    struct Patterns;
    std::unique_ptr<const Patterns> patterns_;
};

}  // namespace stacking::tokenizers
