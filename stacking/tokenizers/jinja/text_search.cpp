#include "stacking/tokenizers/jinja/text_search.hpp"

namespace stacking::tokenizers::jinja {

TextSearch::TextSearch(std::string_view text, std::string_view wanted, From from)
    : text_(text), wanted_(wanted), from_(from) {
    if (wanted.empty() || wanted.size() > text.size()) {
        at_ = text.size();
        return;
    }
    borders_.resize(wanted.size());
    std::uint32_t length = 0;
    for (std::size_t i = 1; i < wanted.size(); ++i) {
        while (length > 0 && wanted_at(i) != wanted_at(length)) {
            length = borders_[length - 1];
        }
        length += wanted_at(i) == wanted_at(length) ? 1 : 0;
        borders_[i] = length;
    }
}

std::size_t TextSearch::next() {
    std::size_t length = 0;  // bytes before at_ that are a beginning of what is wanted
    while (at_ < text_.size()) {
        if (length == 0 && from_ == From::Left) {
            at_ = text_.find(wanted_.front(), at_);
            if (at_ == std::string_view::npos) {
                at_ = text_.size();
                return kNone;
            }
        }
        const char byte = text_at(at_++);
        while (length > 0 && byte != wanted_at(length)) {
            length = borders_[length - 1];
        }
        length += byte == wanted_at(length) ? 1 : 0;
        if (length == wanted_.size()) {
            return from_ == From::Left ? at_ - length : text_.size() - at_;
        }
    }
    return kNone;
}

std::size_t TextSearch::count(std::size_t most) {
    std::size_t found = 0;
    while (found < most && next() != kNone) {
        ++found;
    }
    return found;
}

bool has_part(std::string_view text, std::string_view wanted) {
    return wanted.empty() || TextSearch(text, wanted).next() != TextSearch::kNone;
}

}  // namespace stacking::tokenizers::jinja
