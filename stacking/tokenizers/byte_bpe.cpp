#include "stacking/tokenizers/byte_bpe.hpp"

#include "stacking/tokenizers/byte_alphabet.hpp"
#include "stacking/tokenizers/utf8.hpp"
#include "swarm/base/try.hpp"

#include <algorithm>
#include <functional>
#include <queue>
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

std::string number(std::size_t value) {
    return std::to_string(value);
}

std::uint64_t pair_of(std::uint32_t left, std::uint32_t right) {
    return (std::uint64_t{left} << 32U) | right;
}

std::uint8_t first_byte(std::string_view text) {
    return static_cast<std::uint8_t>(text.front());
}

}  // namespace

/// Merges the symbols of one word pair by pair. One object serves many words.
class ByteBpe::Word {
 public:
    explicit Word(const ByteBpe& bpe) : bpe_(bpe) {}

    void encode(std::string_view word, std::vector<std::uint32_t>& ids) {
        symbols_.clear();
        for (const char letter : word) {
            if (const auto& token = bpe_.byte_tokens_[static_cast<std::uint8_t>(letter)]) {
                const std::size_t at = symbols_.size();
                symbols_.push_back({*token, at - 1, at + 1});
            }
        }
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

 private:
    struct Symbol {
        std::uint32_t token;
        std::size_t previous;  // index; beyond the end: no symbol
        std::size_t next;      // index; beyond the end: no symbol
        bool merged_away = false;
    };

    /// A possible merge. The lower rank goes first, then the one further left.
    struct Candidate {
        std::uint32_t rank;
        std::size_t left;

        bool operator>(const Candidate& other) const {
            return std::pair(rank, left) > std::pair(other.rank, other.left);
        }
    };

    [[nodiscard]] const Merge* merge_at(std::size_t left) const {
        if (left >= symbols_.size() || symbols_[left].merged_away) {
            return nullptr;
        }
        const std::size_t right = symbols_[left].next;
        return right < symbols_.size()
                   ? bpe_.find_merge(symbols_[left].token, symbols_[right].token)
                   : nullptr;
    }

    void consider(std::size_t left) {
        if (const Merge* const found = merge_at(left)) {
            waiting_.push({found->rank, left});
        }
    }

    void merge(const Candidate& candidate) {
        const Merge* const found = merge_at(candidate.left);
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

    const ByteBpe& bpe_;
    std::vector<Symbol> symbols_;
    std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> waiting_;
};

Result<ByteBpe> ByteBpe::make(Vocabulary vocabulary) {
    if (vocabulary.tokens.size() > kTokensMax || vocabulary.merges.size() > kTokensMax ||
        vocabulary.special_tokens.size() > kSpecialTokensMax) {
        return Error{
            ErrorCode::TooLarge,
            Reaction::Reject,
            "the tokenizer: more than " + number(kTokensMax) + " tokens or merges, or than " +
                number(kSpecialTokensMax) + " special tokens"};
    }
    ByteBpe bpe(std::move(vocabulary));
    SWARM_TRY(bpe.add_special_tokens());
    SWARM_TRY(const auto ids, bpe.add_tokens());
    SWARM_TRY(bpe.add_merges(ids));
    return bpe;
}

Result<> ByteBpe::add_special_tokens() {
    special_.resize(vocabulary_.tokens.size());
    for (const std::uint32_t id : vocabulary_.special_tokens) {
        if (id >= special_.size() || special_[id] || vocabulary_.tokens[id].empty()) {
            return bad_vocabulary("special token " + number(id) + " is none, empty or there twice");
        }
        special_[id] = true;
        special_by_length_.push_back(id);
        begins_special_[first_byte(vocabulary_.tokens[id])] = true;
    }
    std::stable_sort(
        special_by_length_.begin(),
        special_by_length_.end(),
        [&](std::uint32_t left, std::uint32_t right) {
            return vocabulary_.tokens[left].size() > vocabulary_.tokens[right].size();
        }
    );
    return {};
}

Result<ByteBpe::Ids> ByteBpe::add_tokens() {
    Ids ids;
    for (std::uint32_t id = 0; id < vocabulary_.tokens.size(); ++id) {
        const std::string& token = vocabulary_.tokens[id];
        if (!ids.emplace(token, id).second) {
            return bad_vocabulary("token " + number(id) + " is another one's twin");
        }
        const auto bytes = special_[id] ? std::optional(token) : to_bytes(token);
        if (!bytes || bytes->empty()) {
            return bad_vocabulary("token " + number(id) + " is not of the byte alphabet");
        }
        bytes_.push_back(*bytes);
        if (bytes->size() == 1 && !special_[id]) {
            byte_tokens_[first_byte(*bytes)] = id;
        }
    }
    return ids;
}

Result<> ByteBpe::add_merges(const Ids& ids) {
    for (std::uint32_t rank = 0; rank < vocabulary_.merges.size(); ++rank) {
        const auto& [left, right] = vocabulary_.merges[rank];
        const auto left_id = ids.find(left);
        const auto right_id = ids.find(right);
        const auto result = ids.find(left + right);
        if (left_id == ids.end() || right_id == ids.end() || result == ids.end()) {
            return bad_vocabulary("merge " + number(rank) + " is of tokens that are none");
        }
        if (special_[left_id->second] || special_[right_id->second] || special_[result->second]) {
            return bad_vocabulary("merge " + number(rank) + " is of special tokens");
        }
        merges_.push_back({pair_of(left_id->second, right_id->second), rank, result->second});
    }
    std::sort(merges_.begin(), merges_.end(), [](const Merge& left, const Merge& right) {
        return left.pair < right.pair;
    });
    const auto twin = std::adjacent_find(
        merges_.begin(),
        merges_.end(),
        [](const Merge& left, const Merge& right) { return left.pair == right.pair; }
    );
    if (twin != merges_.end()) {
        return bad_vocabulary("merge " + number(twin->rank) + " is there twice");
    }
    return {};
}

const ByteBpe::Merge* ByteBpe::find_merge(std::uint32_t left, std::uint32_t right) const {
    const std::uint64_t pair = pair_of(left, right);
    const auto found = std::lower_bound(
        merges_.begin(),
        merges_.end(),
        pair,
        [](const Merge& merge, std::uint64_t wanted) { return merge.pair < wanted; }
    );
    return found != merges_.end() && found->pair == pair ? &*found : nullptr;
}

std::optional<std::uint32_t> ByteBpe::special_at(std::string_view text) const {
    if (!begins_special_[first_byte(text)]) {
        return std::nullopt;
    }
    for (const std::uint32_t id : special_by_length_) {
        if (text.starts_with(vocabulary_.tokens[id])) {
            return id;
        }
    }
    return std::nullopt;
}

Result<> ByteBpe::encode_part(std::string_view text, std::vector<std::uint32_t>& ids) const {
    Word word(*this);
    return splitter_.split(text, [&](std::string_view piece) { word.encode(piece, ids); });
}

Result<std::vector<std::uint32_t>> ByteBpe::encode(std::string_view text, SpecialTokens special)
    const {
    if (text.size() > kTextBytesMax) {
        return Error{
            ErrorCode::TooLarge,
            Reaction::Reject,
            "a text of " + number(text.size()) + " bytes; at most " + number(kTextBytesMax)};
    }
    if (const std::size_t good = utf8_prefix(text); good < text.size()) {
        return Error{
            ErrorCode::Malformed, Reaction::Reject, "the text is no UTF-8 at byte " + number(good)};
    }
    std::vector<std::uint32_t> ids;
    std::size_t begin = 0;  // start of the part before the next special token
    for (std::size_t at = 0; special == SpecialTokens::Recognised && at < text.size();) {
        const std::optional<std::uint32_t> found = special_at(text.substr(at));
        if (!found) {
            ++at;
            continue;
        }
        SWARM_TRY(encode_part(text.substr(begin, at - begin), ids));
        ids.push_back(*found);
        at += vocabulary_.tokens[*found].size();
        begin = at;
    }
    SWARM_TRY(encode_part(text.substr(begin), ids));
    return ids;
}

Result<std::string> ByteBpe::decode(std::span<const std::uint32_t> ids) const {
    std::string bytes;
    for (const std::uint32_t id : ids) {
        if (id >= bytes_.size()) {
            return Error{
                ErrorCode::Mismatch,
                Reaction::Reject,
                "token " + number(id) + " is not in a vocabulary of " + number(bytes_.size())};
        }
        bytes += bytes_[id];
    }
    return bytes;
}

bool ByteBpe::is_special(std::uint32_t id) const {
    return id < special_.size() && special_[id];
}

std::optional<std::uint32_t> ByteBpe::find_special(std::string_view name) const {
    for (const std::uint32_t id : special_by_length_) {
        if (vocabulary_.tokens[id] == name) {
            return id;
        }
    }
    return std::nullopt;
}

}  // namespace stacking::tokenizers
