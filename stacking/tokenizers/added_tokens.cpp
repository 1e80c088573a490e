#include "stacking/tokenizers/added_tokens.hpp"

#include "stacking/tokenizers/chain/stand_ins.hpp"
#include "stacking/tokenizers/utf8.hpp"
#include "swarm/base/try.hpp"

#include <algorithm>

namespace stacking::tokenizers {

using swarm::Error;
using swarm::ErrorCode;
using swarm::Reaction;
using swarm::Result;

namespace {

/// Maximum bytes of all tokens together.
constexpr std::uint32_t kNodesMax = 1U << 22;

constexpr const char* kWordCharacter = "[\\p{L}\\p{M}\\p{Nd}\\p{Nl}\\p{Pc}\\x{200c}\\x{200d}]";

std::uint64_t edge(std::uint32_t node, char byte) {
    return (std::uint64_t{node} << 8U) | static_cast<std::uint8_t>(byte);
}

bool is_white_space(std::uint32_t c) {
    return (c >= 0x9 && c <= 0xD) || c == 0x20 || c == 0x85 || c == 0xA0 || c == 0x1680 ||
           (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F ||
           c == 0x205F || c == 0x3000;
}

std::string_view leading_character(std::string_view text) {
    return text.substr(0, character_bytes(text.front()));
}

std::string_view trailing_character(std::string_view text) {
    std::size_t begin = text.size() - 1;
    while (begin > 0 && (static_cast<unsigned char>(text[begin]) & 0xC0U) == 0x80) {
        --begin;
    }
    return text.substr(begin);
}

std::size_t spaces_before(std::string_view text) {
    const std::size_t whole = text.size();
    while (!text.empty() && is_white_space(code_point_of(trailing_character(text)))) {
        text.remove_suffix(trailing_character(text).size());
    }
    return whole - text.size();
}

std::size_t spaces_after(std::string_view text) {
    const std::size_t whole = text.size();
    while (!text.empty() && is_white_space(code_point_of(leading_character(text)))) {
        text.remove_prefix(leading_character(text).size());
    }
    return whole - text.size();
}

}  // namespace

AddedTokens::AddedTokens() : word_(Pattern::own(kWordCharacter)) {}

Result<> AddedTokens::add(std::string_view text, const AddedToken& token, TokenKind kind) {
    if (text.empty() || text.size() > kAddedTokenBytesMax || entries_.size() == kAddedTokensMax ||
        nodes_ > kNodesMax - text.size()) {
        return Error{
            text.empty() ? ErrorCode::Malformed : ErrorCode::TooLarge,
            Reaction::Reject,
            "the tokenizer: added token " + std::to_string(token.id) +
                " is empty or too long, or there are too many"};
    }
    // A token that is half a character would cut those of a text in two.
    if (utf8_prefix(text) < text.size()) {
        return Error{
            ErrorCode::Malformed,
            Reaction::Reject,
            "the tokenizer: added token " + std::to_string(token.id) + " is no UTF-8"};
    }
    std::uint32_t node = 0;
    for (const char byte : text) {
        const auto [found, is_new] = next_.try_emplace(edge(node, byte), nodes_);
        nodes_ += is_new ? 1 : 0;
        node = found->second;
    }
    if (!entry_at_.try_emplace(node, entries_.size()).second) {
        return Error{
            ErrorCode::Malformed,
            Reaction::Reject,
            "the tokenizer: added token " + std::to_string(token.id) + " is there twice"};
    }
    const bool is_first = entries_.empty();
    only_beginning_ =
        is_first || only_beginning_ == text.front() ? std::optional(text.front()) : std::nullopt;
    begins_[static_cast<std::uint8_t>(text.front())] = true;
    entries_.push_back({token, kind});
    return {};
}

std::size_t AddedTokens::next_beginning(std::string_view text, std::size_t at) const {
    if (only_beginning_) {
        return std::min(text.find(*only_beginning_, at), text.size());
    }
    while (at < text.size() && !begins_[static_cast<std::uint8_t>(text[at])]) {
        ++at;
    }
    return at;
}

std::optional<AddedTokens::Match> AddedTokens::longest_at(std::string_view text, std::size_t at)
    const {
    std::optional<Match> longest;
    std::uint32_t node = 0;
    for (std::size_t end = at; end < text.size(); ++end) {
        const auto next = next_.find(edge(node, text[end]));
        if (next == next_.end()) {
            break;
        }
        node = next->second;
        if (const auto entry = entry_at_.find(node); entry != entry_at_.end()) {
            longest = Match{{at, end + 1}, &entries_[entry->second]};
        }
    }
    return longest;
}

Result<bool> AddedTokens::stands_alone(std::string_view text, const Range& range) const {
    std::string beside;
    if (range.begin > 0) {
        beside += trailing_character(text.substr(0, range.begin));
    }
    if (range.end < text.size()) {
        beside += leading_character(text.substr(range.end));
    }
    SearchBudget budget(beside.size());
    SWARM_TRY(const auto found, word_.find_all(beside, budget));
    return found.empty();
}

Result<bool> AddedTokens::counts(
    const Match& match, std::string_view text, std::span<const Range> allowed
) const {
    if (match.entry->kind == TokenKind::Special) {
        const auto around = std::upper_bound(
            allowed.begin(),
            allowed.end(),
            match.range.begin,
            [](std::size_t begin, const Range& range) { return begin < range.end; }
        );
        if (around == allowed.end() || around->begin > match.range.begin ||
            around->end < match.range.end) {
            return false;
        }
    }
    return match.entry->token.whole_word ? stands_alone(text, match.range) : true;
}

Result<std::vector<AddedTokens::Section>> AddedTokens::cut(
    std::string_view text, std::span<const Range> allowed
) const {
    std::vector<Section> sections;
    std::size_t done = 0;
    std::size_t spaces_end = 0;  // end of the last spaces that a token took
    for (std::size_t at = 0; (at = next_beginning(text, at)) < text.size();) {
        const auto match = longest_at(text, at);
        at = match ? match->range.end : at + 1;
        SWARM_TRY(const bool taken, match ? counts(*match, text, allowed) : Result<bool>(false));
        if (!taken) {
            continue;
        }
        Range range = match->range;
        const AddedToken& token = match->entry->token;
        if (token.takes_left_space && range.begin > done) {
            range.begin -= spaces_before(text.substr(done, range.begin - done));
        }
        if (token.takes_right_space) {
            if (range.end > spaces_end) {  // else it lies in the spaces of the last one
                spaces_end = range.end + spaces_after(text.substr(range.end));
            }
            range.end = spaces_end;
        }
        if (done < range.begin) {
            sections.push_back({{done, range.begin}, std::nullopt});
        }
        sections.push_back({range, token.id});
        done = range.end;
    }
    if (done < text.size()) {
        sections.push_back({{done, text.size()}, std::nullopt});
    }
    return sections;
}

}  // namespace stacking::tokenizers
