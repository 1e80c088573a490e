// The text of an answer, which ends before a stop text.
// Invariant: bytes wait until their character is whole and until they can no longer begin a stop
// text, so the text is UTF-8 and does not depend on how tokens cut it.
// Threading: one thread. Errors: none; a token that the tokenizer does not know has no text.
#pragma once

#include "stacking/tokenizers/model_tokenizer.hpp"
#include "stacking/tokenizers/stop_texts.hpp"
#include "stacking/tokenizers/utf8.hpp"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace stacking::tokenizers {

class AnswerText {
 public:
    /// `tokenizer` outlives this object.
    AnswerText(const ModelTokenizer& tokenizer, std::vector<std::string> stops)
        : tokenizer_(&tokenizer), stops_(std::move(stops)) {}

    /// Returns the text that is known with this token.
    std::string add(std::uint32_t token);
    std::string finish();

    /// Whether the text has ended at a stop text.
    [[nodiscard]] bool is_stopped() const { return stops_.is_found(); }

 private:
    const ModelTokenizer* tokenizer_;
    StopTexts stops_;
    Utf8Stream stream_;
};

}  // namespace stacking::tokenizers
