#include "stacking/tokenizers/merges/bpe_trainer.hpp"

#include "stacking/tokenizers/byte_alphabet.hpp"
#include "stacking/tokenizers/chain/chain_parts.hpp"
#include "stacking/tokenizers/chain/pre_tokenizer.hpp"
#include "stacking/tokenizers/utf8.hpp"
#include "swarm/base/try.hpp"

#include <algorithm>
#include <map>
#include <queue>
#include <string>
#include <utility>
#include <vector>

namespace stacking::tokenizers {

using swarm::Error;
using swarm::ErrorCode;
using swarm::Reaction;
using swarm::Result;

namespace {

/// Bytes whose words are counted in one go: whole lines, where they are shorter.
constexpr std::size_t kCountedAtOnce = 1U << 16;
constexpr std::uint64_t kPairMin = 2;  // a pair that comes once saves nothing

Error untrained(ErrorCode code, std::string what) {
    return {code, Reaction::Reject, std::move(what)};
}

/// A pair of tokens: left id in the upper half, right id in the lower.
using Neighbours = std::uint64_t;

Neighbours neighbours(std::uint32_t left, std::uint32_t right) {
    return Neighbours{left} << 32U | right;
}

struct Word {
    std::vector<std::uint32_t> tokens;
    std::uint64_t count = 0;
};

/// The end of a part that begins at `from`: of a line, or of a character.
std::size_t part_end(std::string_view text, std::size_t from) {
    const std::size_t end = std::min(text.size(), from + kCountedAtOnce);
    if (end == text.size()) {
        return end;
    }
    const std::size_t line = text.rfind('\n', end - 1);
    if (line != std::string_view::npos && line >= from) {
        return line + 1;
    }
    std::size_t cut = end;
    while (cut > from + 1 && (static_cast<unsigned char>(text[cut]) & 0xC0U) == 0x80U) {
        --cut;
    }
    return cut;
}

/// How often each word comes. A map, so that words have an order of their own.
Result<std::map<std::string, std::uint64_t, std::less<>>> count_words(std::string_view text) {
    SWARM_TRY(const Chain chain, read_chain(ChainParts{}));
    std::map<std::string, std::uint64_t, std::less<>> counts;
    const auto count = [&](std::string_view word) {
        if (word.size() > kTrainedWordBytesMax) {
            return;
        }
        const auto found = counts.find(word);
        if (found != counts.end()) {
            ++found->second;
        } else {
            counts.emplace(word, 1);
        }
    };
    const std::size_t every = 1 + text.size() / kTrainingTextBytesMax;
    std::size_t number = 0;
    for (std::size_t at = 0; at < text.size(); ++number) {
        const std::size_t end = part_end(text, at);
        const std::string_view part = text.substr(at, end - at);
        at = end;
        if (number % every != 0) {
            continue;
        }
        if (utf8_prefix(part) != part.size()) {
            return untrained(
                ErrorCode::Malformed, "a text that is no UTF-8 gives no tokenizer of characters"
            );
        }
        SearchBudget budget(part.size());
        SWARM_TRY(pre_tokenize(chain.pre_tokenizer, part, TextPlace::Later, budget, count));
    }
    return counts;
}

/// Where a pair is, and how often.
struct Place {
    std::uint64_t count = 0;
    std::vector<std::uint32_t> words;  // indices; a word that has lost the pair may be among them
};

/// A pair with the count that it had when it was put into the queue.
struct Waiting {
    std::uint64_t count = 0;
    Neighbours pair = 0;

    bool operator<(const Waiting& other) const {
        return count != other.count ? count < other.count : pair > other.pair;
    }
};

class Trainer {
 public:
    explicit Trainer(const std::map<std::string, std::uint64_t, std::less<>>& counts) {
        made_.tokens.emplace_back(kTrainedEndToken);
        made_.special_tokens.push_back(0);
        for (std::uint32_t byte = 0; byte < 256; ++byte) {
            made_.tokens.push_back(letter_of(static_cast<std::uint8_t>(byte)));
        }
        for (std::uint32_t id = 1; id < made_.tokens.size(); ++id) {
            ids_.emplace(made_.tokens[id], id);
        }
        for (const auto& [text, count] : counts) {
            Word word{{}, count};
            for (const char byte : text) {
                word.tokens.push_back(1U + static_cast<unsigned char>(byte));
            }
            words_.push_back(std::move(word));
        }
        for (std::uint32_t i = 0; i < words_.size(); ++i) {
            add_pairs(i);
        }
        for (const auto& [pair, place] : places_) {
            waiting_.push({place.count, pair});
        }
    }

    /// Makes tokens until there are so many; false: no pair is left that comes twice.
    bool grow_to(std::uint32_t tokens) {
        while (made_.tokens.size() < tokens) {
            const std::optional<Neighbours> next = most_frequent();
            if (!next) {
                return false;
            }
            merge(*next);
        }
        return true;
    }

    [[nodiscard]] const Vocabulary& made() const { return made_; }

 private:
    void add_pairs(std::uint32_t index) {
        const Word& word = words_[index];
        for (std::size_t i = 0; i + 1 < word.tokens.size(); ++i) {
            Place& place = places_[neighbours(word.tokens[i], word.tokens[i + 1])];
            place.count += word.count;
            if (place.words.empty() || place.words.back() != index) {
                place.words.push_back(index);
            }
        }
    }

    std::optional<Neighbours> most_frequent() {
        while (!waiting_.empty()) {
            const Waiting top = waiting_.top();
            waiting_.pop();
            const std::uint64_t count = places_[top.pair].count;
            if (count == top.count) {
                return count >= kPairMin ? std::optional(top.pair) : std::nullopt;
            }
            if (count >= kPairMin) {
                waiting_.push({count, top.pair});
            }
        }
        return std::nullopt;
    }

    /// The token that two neighbours become. Other neighbours may have become the same one before.
    std::uint32_t token_of(std::uint32_t left, std::uint32_t right) {
        std::string text = made_.tokens[left] + made_.tokens[right];
        const auto id = static_cast<std::uint32_t>(made_.tokens.size());
        made_.merges.emplace_back(made_.tokens[left], made_.tokens[right]);
        const auto [found, is_new] = ids_.emplace(text, id);
        if (is_new) {
            made_.tokens.push_back(std::move(text));
        }
        return found->second;
    }

    void merge(Neighbours pair) {
        const auto left = static_cast<std::uint32_t>(pair >> 32U);
        const auto right = static_cast<std::uint32_t>(pair);
        const std::uint32_t token = token_of(left, right);
        const std::vector<std::uint32_t> words = std::move(places_[pair].words);
        std::vector<Neighbours> risen;
        for (const std::uint32_t index : words) {
            merge_in(index, left, right, token, risen);
        }
        places_[pair] = {};
        std::sort(risen.begin(), risen.end());
        risen.erase(std::unique(risen.begin(), risen.end()), risen.end());
        for (const Neighbours one : risen) {
            waiting_.push({places_[one].count, one});
        }
    }

    void merge_in(
        std::uint32_t index,
        std::uint32_t left,
        std::uint32_t right,
        std::uint32_t token,
        std::vector<Neighbours>& risen
    ) {
        Word& word = words_[index];
        std::vector<std::uint32_t> merged;
        for (std::size_t i = 0; i < word.tokens.size(); ++i) {
            const bool here =
                i + 1 < word.tokens.size() && word.tokens[i] == left && word.tokens[i + 1] == right;
            merged.push_back(here ? token : word.tokens[i]);
            i += here ? 1 : 0;
        }
        if (merged.size() == word.tokens.size()) {
            return;
        }
        for (std::size_t i = 0; i + 1 < word.tokens.size(); ++i) {
            places_[neighbours(word.tokens[i], word.tokens[i + 1])].count -= word.count;
        }
        word.tokens = std::move(merged);
        add_pairs(index);
        for (std::size_t i = 0; i + 1 < word.tokens.size(); ++i) {
            if (word.tokens[i] == token || word.tokens[i + 1] == token) {
                risen.push_back(neighbours(word.tokens[i], word.tokens[i + 1]));
            }
        }
    }

    Vocabulary made_;
    std::map<std::string, std::uint32_t> ids_;  // by token; no special ones
    std::vector<Word> words_;
    std::map<Neighbours, Place> places_;
    std::priority_queue<Waiting> waiting_;  // total order, so the order of places_ shows nowhere
};

}  // namespace

Result<Vocabulary> train_bpe(std::string_view text, std::uint32_t tokens) {
    if (tokens < kTrainedTokensMin || tokens > kTrainedTokensMax) {
        return untrained(
            ErrorCode::TooLarge,
            std::to_string(tokens) + " tokens, must be " + std::to_string(kTrainedTokensMin) +
                " to " + std::to_string(kTrainedTokensMax)
        );
    }
    SWARM_TRY(const auto counts, count_words(text));
    Trainer trainer(counts);
    if (!trainer.grow_to(tokens)) {
        return untrained(
            ErrorCode::Mismatch,
            "the text gives " + std::to_string(trainer.made().tokens.size()) +
                " tokens at most; ask for fewer"
        );
    }
    return trainer.made();
}

}  // namespace stacking::tokenizers
