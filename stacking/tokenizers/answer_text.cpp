#include "stacking/tokenizers/answer_text.hpp"

#include <span>

namespace stacking::tokenizers {

std::string AnswerText::add(std::uint32_t token) {
    // A model may have more tokens than its tokenizer: padding, which has no text.
    const auto bytes = tokenizer_->decode(std::span(&token, 1));
    return bytes ? stream_.push(stops_.push(*bytes)) : "";
}

std::string AnswerText::finish() {
    return stream_.push(stops_.finish()) + stream_.finish();
}

}  // namespace stacking::tokenizers
