#include "stacking/tokenizers/vocabulary.hpp"

#include "stacking/tokenizers/chain/stand_ins.hpp"

#include <algorithm>
#include <numeric>
#include <set>

namespace stacking::tokenizers {

namespace {

constexpr std::string_view kHexDigits = "0123456789ABCDEF";

}  // namespace

std::optional<std::pair<std::string, std::string>> split_merge(std::string_view text) {
    const std::size_t space = text.find(' ');
    if (space == std::string_view::npos || space == 0 || space + 1 == text.size() ||
        text.find(' ', space + 1) != std::string_view::npos) {
        return std::nullopt;
    }
    return std::pair(std::string(text.substr(0, space)), std::string(text.substr(space + 1)));
}

std::string byte_token(std::uint8_t byte) {
    return std::string("<0x") + kHexDigits[byte >> 4U] + kHexDigits[byte & 15U] + ">";
}

std::optional<std::uint8_t> byte_of_token(std::string_view token) {
    if (token.size() != 6 || !token.starts_with("<0x") || token.back() != '>') {
        return std::nullopt;
    }
    const std::size_t high = kHexDigits.find(token[3]);
    const std::size_t low = kHexDigits.find(token[4]);
    if (high == std::string_view::npos || low == std::string_view::npos) {
        return std::nullopt;
    }
    return static_cast<std::uint8_t>(16 * high + low);
}

std::vector<std::pair<std::string, std::string>> merges_of_scores(const Vocabulary& vocabulary) {
    std::vector<std::size_t> order;
    std::set<std::string_view> made;  // tokens that merges may have to do with
    for (std::size_t id = 0; id < vocabulary.tokens.size(); ++id) {
        if (vocabulary.scores[id] != kNoScore) {
            order.push_back(id);
            made.insert(vocabulary.tokens[id]);
        }
    }
    std::stable_sort(order.begin(), order.end(), [&](std::size_t left, std::size_t right) {
        return vocabulary.scores[left] > vocabulary.scores[right];
    });
    std::vector<std::pair<std::string, std::string>> merges;
    for (const std::size_t id : order) {
        const std::string_view token = vocabulary.tokens[id];
        for (std::size_t at = character_bytes(token.front()); at < token.size();
             at += character_bytes(token[at])) {
            const std::string_view left = token.substr(0, at);
            const std::string_view right = token.substr(at);
            if (made.contains(left) && made.contains(right)) {
                merges.emplace_back(left, right);
            }
        }
    }
    return merges;
}

}  // namespace stacking::tokenizers
