#include "stacking/tokenizers/vocabulary.hpp"

namespace stacking::tokenizers {

std::optional<std::pair<std::string, std::string>> split_merge(std::string_view text) {
    const std::size_t space = text.find(' ');
    if (space == std::string_view::npos || space == 0 || space + 1 == text.size() ||
        text.find(' ', space + 1) != std::string_view::npos) {
        return std::nullopt;
    }
    return std::pair(std::string(text.substr(0, space)), std::string(text.substr(space + 1)));
}

}  // namespace stacking::tokenizers
