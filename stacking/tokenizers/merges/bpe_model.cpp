#include "stacking/tokenizers/merges/bpe_model.hpp"

#include "stacking/tokenizers/byte_alphabet.hpp"
#include "stacking/tokenizers/chain/stand_ins.hpp"
#include "swarm/base/try.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <span>

namespace stacking::tokenizers {

using swarm::Error;
using swarm::ErrorCode;
using swarm::Reaction;
using swarm::Result;

namespace {

Error bad_merges(const std::string& what) {
    return {ErrorCode::Malformed, Reaction::Reject, "the tokenizer: " + what};
}

std::uint64_t pair_of(std::uint32_t left, std::uint32_t right) {
    return (std::uint64_t{left} << 32U) | right;
}

}  // namespace

Result<BpeModel> BpeModel::make(
    const Vocabulary& vocabulary, Alphabet alphabet, const std::vector<bool>& special
) {
    BpeModel model;
    model.alphabet_ = alphabet;
    model.unknown_ = vocabulary.unknown;
    model.unknowns_merge_ = vocabulary.unknowns_merge;
    model.byte_fallback_ = vocabulary.byte_fallback;
    model.ignore_merges_ = vocabulary.ignore_merges;
    model.add_symbols(vocabulary, special);
    if (vocabulary.scores.empty()) {
        SWARM_TRY(model.add_merges(vocabulary, special));
    } else {
        SWARM_TRY(model.add_scored_merges(vocabulary));
    }
    SWARM_TRY(model.sort_merges());
    return model;
}

void BpeModel::add_symbols(const Vocabulary& vocabulary, const std::vector<bool>& special) {
    ids_ = TokenTable(vocabulary.tokens.size());
    for (std::uint32_t id = 0; id < vocabulary.tokens.size(); ++id) {
        if (!special[id]) {
            ids_.add(vocabulary.tokens[id], id);
        }
    }
    for (unsigned byte = 0; byte < 256; ++byte) {
        const std::string self(1, static_cast<char>(byte));
        letters_[byte] = alphabet_ == Alphabet::Bytes
                             ? find(letter_of(static_cast<std::uint8_t>(byte)))
                             : find(self);
        byte_tokens_[byte] = find(byte_token(static_cast<std::uint8_t>(byte)));
    }
}

BpeModel::Id BpeModel::find(std::string_view token) const {
    return ids_.find(token);
}

/// A merge that has to do with a special token is left out: no text may become such a token. Files
/// have some, because "</" and "s>" are tokens, too.
Result<> BpeModel::add_merges(const Vocabulary& vocabulary, const std::vector<bool>& special) {
    std::map<std::string_view, std::uint32_t> special_ids;
    for (std::uint32_t id = 0; id < special.size(); ++id) {
        if (special[id]) {
            special_ids.emplace(vocabulary.tokens[id], id);
        }
    }
    merges_.reserve(vocabulary.merges.size());
    std::string both;
    for (std::uint32_t rank = 0; rank < vocabulary.merges.size(); ++rank) {
        const auto& [left, right] = vocabulary.merges[rank];
        both.assign(left).append(right);
        const Id left_id = find(left);
        const Id right_id = find(right);
        const Id result = find(both);
        if (left_id && right_id && result) {
            merges_.push_back({pair_of(*left_id, *right_id), rank, *result});
            continue;
        }
        const auto known = [&](const Id& id, std::string_view token) {
            return id || special_ids.contains(token);
        };
        if (!known(left_id, left) || !known(right_id, right) || !known(result, both)) {
            return bad_merges("merge " + std::to_string(rank) + " is of tokens that are none");
        }
    }
    return {};
}

/// Makes a merge of each way to cut a token in two. All ways to one token have one rank, and so
/// have tokens of equal scores.
Result<> BpeModel::add_scored_merges(const Vocabulary& vocabulary) {
    const std::vector<float>& scores = vocabulary.scores;
    std::vector<std::uint32_t> order(scores.size());
    std::iota(order.begin(), order.end(), 0U);
    std::stable_sort(order.begin(), order.end(), [&](std::uint32_t left, std::uint32_t right) {
        return scores[left] > scores[right];
    });
    std::uint32_t rank = 0;
    for (std::size_t i = 0; i < order.size() && scores[order[i]] != kNoScore; ++i) {
        const std::uint32_t id = order[i];
        rank += i > 0 && scores[id] != scores[order[i - 1]] ? 1 : 0;
        const std::string_view token = vocabulary.tokens[id];
        if (find(token) != id) {
            continue;  // a special token
        }
        for (std::size_t at = character_bytes(token.front()); at < token.size();
             at += character_bytes(token[at])) {
            const Id left = find(token.substr(0, at));
            const Id right = find(token.substr(at));
            if (left && right && scores[*left] != kNoScore && scores[*right] != kNoScore) {
                merges_.push_back({pair_of(*left, *right), rank, id});
            }
        }
        if (merges_.size() > kMergesMax) {
            return Error{ErrorCode::TooLarge, Reaction::Reject, "the tokenizer: too many merges"};
        }
    }
    return {};
}

Result<> BpeModel::sort_merges() {
    std::sort(merges_.begin(), merges_.end(), [](const Merge& left, const Merge& right) {
        return left.pair < right.pair;
    });
    const auto twin = std::adjacent_find(
        merges_.begin(),
        merges_.end(),
        [](const Merge& left, const Merge& right) { return left.pair == right.pair; }
    );
    if (twin != merges_.end()) {
        return bad_merges("merge " + std::to_string(twin->rank) + " is there twice");
    }
    const std::size_t lefts = merges_.empty() ? 0 : (merges_.back().pair >> 32U) + 1;
    first_merges_.assign(lefts + 1, 0);
    for (const Merge& merge : merges_) {
        ++first_merges_[(merge.pair >> 32U) + 1];
    }
    std::partial_sum(first_merges_.begin(), first_merges_.end(), first_merges_.begin());
    return {};
}

const BpeModel::Merge* BpeModel::find_merge(std::uint32_t left, std::uint32_t right) const {
    if (std::size_t{left} + 1 >= first_merges_.size()) {
        return nullptr;
    }
    const std::uint64_t pair = pair_of(left, right);
    const auto end = merges_.begin() + first_merges_[left + 1];
    const auto found = std::lower_bound(
        merges_.begin() + first_merges_[left],
        end,
        pair,
        [](const Merge& merge, std::uint64_t wanted) { return merge.pair < wanted; }
    );
    return found != end && found->pair == pair ? &*found : nullptr;
}

void BpeMerger::encode(std::string_view word, std::vector<std::uint32_t>& ids) {
    if (words_ == nullptr) {
        encode_new(word, ids);
        return;
    }
    if (words_->add(word, ids)) {
        return;
    }
    const std::size_t before = ids.size();
    const std::size_t lost_before = lost_;
    encode_new(word, ids);
    if (lost_ == lost_before) {
        words_->keep(word, std::span(ids).subspan(before));
    }
}

void BpeMerger::encode_new(std::string_view word, std::vector<std::uint32_t>& ids) {
    if (model_.ignore_merges_) {
        std::string letters;
        for (const char byte : model_.alphabet_ == Alphabet::Bytes ? word : std::string_view()) {
            letters += letter_of(static_cast<std::uint8_t>(byte));
        }
        if (const auto whole = model_.find(letters.empty() ? word : letters)) {
            ids.push_back(*whole);
            return;
        }
    }
    begin(word);
    for (std::size_t at = 0; at < symbols_.size(); ++at) {
        consider(at);
    }
    while (!waiting_.empty()) {
        const Candidate best = waiting_.top();
        waiting_.pop();
        merge(best);
    }
    for (std::size_t at = 0; at < symbols_.size(); at = symbols_[at].next) {
        ids.push_back(symbols_[at].token);
    }
}

void BpeMerger::begin(std::string_view word) {
    symbols_.clear();
    for (std::size_t at = 0; at < word.size();) {
        const std::size_t bytes =
            model_.alphabet_ == Alphabet::Bytes ? 1 : character_bytes(word[at]);
        begin_unit(word.substr(at, bytes));
        at += bytes;
    }
    flush_unknown();
}

/// Begins with the token of a byte or character; without one with the tokens of its bytes, or with
/// the unknown token, which waits for its neighbours.
void BpeMerger::begin_unit(std::string_view unit) {
    const auto byte = static_cast<std::uint8_t>(unit.front());
    const auto token = unit.size() == 1 ? model_.letters_[byte] : model_.find(unit);
    if (token) {
        flush_unknown();
        add_symbol(*token);
        return;
    }
    const bool has_bytes =
        model_.byte_fallback_ && std::all_of(unit.begin(), unit.end(), [&](char letter) {
            return model_.byte_tokens_[static_cast<std::uint8_t>(letter)].has_value();
        });
    if (has_bytes) {
        for (const char letter : unit) {
            add_symbol(*model_.byte_tokens_[static_cast<std::uint8_t>(letter)]);
        }
        return;
    }
    ++lost_;
    if (model_.unknown_) {
        if (!model_.unknowns_merge_) {
            flush_unknown();
        }
        unknown_waits_ = true;
    }
}

void BpeMerger::flush_unknown() {
    if (unknown_waits_) {
        unknown_waits_ = false;
        add_symbol(*model_.unknown_);
    }
}

void BpeMerger::add_symbol(std::uint32_t token) {
    const std::size_t at = symbols_.size();
    symbols_.push_back({token, at - 1, at + 1});
}

const BpeModel::Merge* BpeMerger::merge_at(std::size_t left) const {
    if (left >= symbols_.size() || symbols_[left].merged_away) {
        return nullptr;
    }
    const std::size_t right = symbols_[left].next;
    return right < symbols_.size() ? model_.find_merge(symbols_[left].token, symbols_[right].token)
                                   : nullptr;
}

void BpeMerger::consider(std::size_t left) {
    if (const BpeModel::Merge* const found = merge_at(left)) {
        waiting_.push({found->rank, left});
    }
}

void BpeMerger::merge(const Candidate& candidate) {
    const BpeModel::Merge* const found = merge_at(candidate.left);
    if (found == nullptr || found->rank != candidate.rank) {
        return;  // one of the two symbols has been merged with its other neighbour
    }
    Symbol& left = symbols_[candidate.left];
    Symbol& right = symbols_[left.next];
    right.merged_away = true;
    left.token = found->result;
    left.next = right.next;
    if (left.next < symbols_.size()) {
        symbols_[left.next].previous = candidate.left;
    }
    consider(left.previous);
    consider(candidate.left);
}

}  // namespace stacking::tokenizers
