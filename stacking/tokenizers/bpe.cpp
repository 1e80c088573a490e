#include "stacking/tokenizers/bpe.hpp"

#include "stacking/tokenizers/byte_alphabet.hpp"
#include "stacking/tokenizers/utf8.hpp"
#include "swarm/base/try.hpp"

#include <algorithm>
#include <utility>

namespace stacking::tokenizers {

using swarm::Error;
using swarm::ErrorCode;
using swarm::Reaction;
using swarm::Result;

namespace {

Error bad_vocabulary(const std::string& what) {
    return {ErrorCode::Malformed, Reaction::Reject, "the tokenizer: " + what};
}

Error long_token() {
    return {
        ErrorCode::TooLarge,
        Reaction::Reject,
        "the tokenizer: a token of more than " + std::to_string(kTokenBytesMax) + " bytes"};
}

std::string decimal(std::size_t value) {
    return std::to_string(value);
}

/// Writes `to` instead of each `from`.
std::string replaced(std::string_view text, std::string_view from, std::string_view to) {
    std::string result;
    for (std::size_t at = 0; at < text.size();) {
        const bool found = text.substr(at).starts_with(from);
        result += found ? to : text.substr(at, 1);
        at += found ? from.size() : 1;
    }
    return result;
}

}  // namespace

Result<Bpe> Bpe::make(Vocabulary vocabulary) {
    SWARM_TRY(auto chain, read_chain(vocabulary.parts));
    Bpe bpe(std::move(vocabulary), std::move(chain));
    SWARM_TRY(bpe.check_parts());
    SWARM_TRY(bpe.add_special_tokens());
    SWARM_TRY(bpe.add_added_tokens());
    SWARM_TRY(bpe.add_bytes());
    SWARM_TRY(bpe.model_, BpeModel::make(bpe.vocabulary_, bpe.chain_.alphabet, bpe.special_));
    return bpe;
}

Result<> Bpe::check_parts() const {
    const std::size_t tokens = vocabulary_.tokens.size();
    if (tokens > kTokensMax || vocabulary_.merges.size() > kMergesMax ||
        vocabulary_.special_tokens.size() > kAddedTokensMax ||
        vocabulary_.added_tokens.size() > kAddedTokensMax) {
        return Error{
            ErrorCode::TooLarge,
            Reaction::Reject,
            "the tokenizer: more than " + decimal(kTokensMax) + " tokens, " + decimal(kMergesMax) +
                " merges, or " + decimal(kAddedTokensMax) + " added tokens"};
    }
    for (const std::string& token : vocabulary_.tokens) {
        if (token.size() > kTokenBytesMax) {
            return long_token();
        }
    }
    if (!vocabulary_.scores.empty() && vocabulary_.scores.size() != tokens) {
        return bad_vocabulary("it has a score for some tokens only");
    }
    if (vocabulary_.byte_fallback && chain_.alphabet == Alphabet::Bytes) {
        return Error{
            ErrorCode::Unsupported,
            Reaction::Reject,
            "the tokenizer: byte_fallback of tokens that are bytes"};
    }
    for (const auto* const around : {&chain_.begin_tokens, &chain_.end_tokens}) {
        for (const std::uint32_t id : *around) {
            if (id >= tokens) {
                return bad_vocabulary("token " + decimal(id) + " around a text is none");
            }
        }
    }
    if (vocabulary_.unknown && *vocabulary_.unknown >= tokens) {
        return bad_vocabulary("the unknown token is none");
    }
    return {};
}

Result<> Bpe::add_special_tokens() {
    special_.resize(vocabulary_.tokens.size());
    for (const std::uint32_t id : vocabulary_.special_tokens) {
        if (id >= special_.size() || special_[id] || vocabulary_.tokens[id].empty()) {
            return bad_vocabulary(
                "special token " + decimal(id) + " is none, empty or there twice"
            );
        }
        special_[id] = true;
        special_ids_.emplace(vocabulary_.tokens[id], id);
    }
    return {};
}

Result<> Bpe::add_added_tokens() {
    added_ = special_;
    std::vector<AddedToken> all = vocabulary_.added_tokens;
    std::vector<bool> has_entry(vocabulary_.tokens.size());
    for (const AddedToken& token : all) {
        if (token.id >= has_entry.size() || has_entry[token.id]) {
            return bad_vocabulary("added token " + decimal(token.id) + " is none or there twice");
        }
        has_entry[token.id] = true;
        added_[token.id] = true;
    }
    for (const std::uint32_t id : vocabulary_.special_tokens) {
        if (!has_entry[id]) {
            all.push_back({id});
        }
    }
    SearchBudget budget(0);
    for (const AddedToken& token : all) {
        const auto kind = special_[token.id] ? TokenKind::Special : TokenKind::Plain;
        const std::string& text = vocabulary_.tokens[token.id];
        if (!token.normalized) {
            SWARM_TRY(raw_added_.add(text, token, kind));
            continue;
        }
        SWARM_TRY(const std::string normalized, normalize(chain_.normalizer, text, budget));
        SWARM_TRY(normalized_added_.add(normalized, token, kind));
    }
    return {};
}

Result<> Bpe::add_bytes() {
    TokenTable ids(vocabulary_.tokens.size());
    bytes_.reserve(vocabulary_.tokens.size());
    for (std::uint32_t id = 0; id < vocabulary_.tokens.size(); ++id) {
        const std::string& token = vocabulary_.tokens[id];
        if (token.empty()) {
            return bad_vocabulary("token " + decimal(id) + " is empty");
        }
        if (!ids.add(token, id)) {
            return bad_vocabulary("token " + decimal(id) + " is another one's twin");
        }
        SWARM_TRY(auto bytes, bytes_of(id));
        bytes_.push_back(std::move(bytes));
    }
    return {};
}

/// Bytes of a token in a text. A token that is not of its alphabet stands for itself.
Result<std::string> Bpe::bytes_of(std::uint32_t id) const {
    const std::string& token = vocabulary_.tokens[id];
    if (special_[id]) {
        return token;
    }
    if (chain_.alphabet == Alphabet::Bytes) {
        return added_[id] ? token : to_bytes(token).value_or(token);
    }
    if (const auto byte = chain_.decodes_bytes ? byte_of_token(token) : std::nullopt) {
        return std::string(1, static_cast<char>(*byte));
    }
    std::string text = token;
    for (const auto& [from, to] : chain_.decoded) {
        text = replaced(text, from, to);
        if (text.size() > kTokenBytesMax) {
            return long_token();
        }
    }
    return text;
}

Result<CountedTokens> Bpe::encode_parts(std::span<const TextPart> parts, WordCache* words) const {
    std::string text;
    std::vector<Range> allowed;
    for (const TextPart& part : parts) {
        if (part.text.size() > kTextBytesMax - text.size()) {
            return Error{
                ErrorCode::TooLarge,
                Reaction::Reject,
                "a text of more than " + decimal(kTextBytesMax) + " bytes"};
        }
        if (part.special == SpecialTokens::Recognised) {
            allowed.push_back({text.size(), text.size() + part.text.size()});
        }
        text += part.text;
    }
    if (const std::size_t good = utf8_prefix(text); good < text.size()) {
        return Error{
            ErrorCode::Malformed,
            Reaction::Reject,
            "the text is no UTF-8 at byte " + decimal(good)};
    }
    CountedTokens encoded;
    BpeMerger merger(*model_, words);
    SearchBudget budget(text.size());
    std::size_t changed_bytes = 0;
    SWARM_TRY(const auto sections, raw_added_.cut(text, allowed));
    for (const auto& [range, id] : sections) {
        if (id) {
            encoded.ids.push_back(*id);
            continue;
        }
        const std::string_view raw =
            std::string_view(text).substr(range.begin, range.end - range.begin);
        SWARM_TRY(const std::string section, normalize(chain_.normalizer, raw, budget));
        changed_bytes += section.size();
        if (changed_bytes > kChangedBytesPerByte * text.size() + kChangedBytesMore) {
            return Error{
                ErrorCode::TooLarge, Reaction::Reject, "the normalizer makes the text too long"};
        }
        const bool all_allowed =
            std::any_of(allowed.begin(), allowed.end(), [&, &whole = range](const Range& part) {
                return part.begin <= whole.begin && whole.end <= part.end;
            });
        const Range everywhere{0, all_allowed ? section.size() : 0};
        SWARM_TRY(const auto parts_of_section, normalized_added_.cut(section, {&everywhere, 1}));
        for (const auto& [place, added] : parts_of_section) {
            if (added) {
                encoded.ids.push_back(*added);
                continue;
            }
            SWARM_TRY(pre_tokenize(
                chain_.pre_tokenizer,
                std::string_view(section).substr(place.begin, place.end - place.begin),
                range.begin + place.begin == 0 ? TextPlace::Beginning : TextPlace::Later,
                budget,
                [&](std::string_view word) { merger.encode(word, encoded.ids); }
            ));
        }
    }
    encoded.lost = merger.lost();
    return encoded;
}

Result<std::vector<std::uint32_t>> Bpe::encode(std::span<const TextPart> parts) const {
    SWARM_TRY(auto encoded, encode_parts(parts));
    return std::move(encoded.ids);
}

Result<CountedTokens> Bpe::encode_counted(
    std::string_view text, SpecialTokens special, WordCache* words
) const {
    const TextPart part{text, special};
    return encode_parts(std::span(&part, 1), words);
}

Result<std::vector<std::uint32_t>> Bpe::encode(
    std::string_view text, SpecialTokens special, WordCache* words
) const {
    SWARM_TRY(auto encoded, encode_counted(text, special, words));
    return std::move(encoded.ids);
}

Result<std::string> Bpe::decode(std::span<const std::uint32_t> ids) const {
    std::string bytes;
    for (const std::uint32_t id : ids) {
        if (id >= bytes_.size()) {
            return Error{
                ErrorCode::Mismatch,
                Reaction::Reject,
                "token " + decimal(id) + " is not in a vocabulary of " + decimal(bytes_.size())};
        }
        bytes += bytes_[id];
    }
    return bytes;
}

Result<std::string> Bpe::decode_whole(std::span<const std::uint32_t> ids) const {
    SWARM_TRY(std::string bytes, decode(ids));
    const std::size_t spaces = std::min(bytes.find_first_not_of(' '), bytes.size());
    bytes.erase(0, std::min(spaces, chain_.dropped_spaces));
    return bytes;
}

bool Bpe::is_special(std::uint32_t id) const {
    return id < special_.size() && special_[id];
}

std::optional<std::uint32_t> Bpe::find_special(std::string_view name) const {
    const auto found = special_ids_.find(name);
    return found == special_ids_.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace stacking::tokenizers
