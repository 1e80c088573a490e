#include "stacking/composition/clusters/tf_idf.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

namespace stacking::composition {
namespace {

constexpr std::size_t kWordBytesLeast = 2;
constexpr std::size_t kWordBytesMost = 32;  // longer runs are cut

bool is_in_word(char letter) {
    const auto byte = static_cast<unsigned char>(letter);
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
           (byte >= '0' && byte <= '9') || byte > 127;
}

char lower(char letter) {
    return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
}

/// Calls `take` with each word of the text.
template <class Take>
void each_word(std::string_view text, Take take) {
    std::string word;
    for (std::size_t i = 0; i <= text.size(); ++i) {
        if (i < text.size() && is_in_word(text[i]) && word.size() < kWordBytesMost) {
            word += lower(text[i]);
            continue;
        }
        if (word.size() >= kWordBytesLeast) {
            take(std::as_const(word));
        }
        word.clear();
        if (i < text.size() && is_in_word(text[i])) {
            word += lower(text[i]);
        }
    }
}

}  // namespace

double dot(const TermVector& one, const TermVector& other) {
    double sum = 0;
    std::size_t j = 0;
    for (const Term& term : one) {
        while (j < other.size() && other[j].word < term.word) {
            ++j;
        }
        if (j < other.size() && other[j].word == term.word) {
            sum += double{term.weight} * double{other[j].weight};
        }
    }
    return sum;
}

void scale_to_one(TermVector& vector) {
    double squares = 0;
    for (const Term& term : vector) {
        squares += double{term.weight} * double{term.weight};
    }
    if (squares > 0) {
        for (Term& term : vector) {
            term.weight = static_cast<float>(double{term.weight} / std::sqrt(squares));
        }
    }
}

TermVector TfIdf::vector_of(std::string_view text) const {
    std::map<std::uint32_t, std::uint64_t> counts;
    each_word(text, [&](const std::string& word) {
        const auto found = std::ranges::lower_bound(words_, word);
        if (found != words_.end() && *found == word) {
            ++counts[static_cast<std::uint32_t>(found - words_.begin())];
        }
    });
    TermVector vector;
    for (const auto& [word, count] : counts) {
        const double weight = (1 + std::log(static_cast<double>(count))) * double{rarity_[word]};
        vector.push_back({word, static_cast<float>(weight)});
    }
    scale_to_one(vector);
    return vector;
}

void WordCounter::add(std::string_view document) {
    std::set<std::string> words;
    each_word(document, [&](const std::string& word) { words.insert(word); });
    for (const std::string& word : words) {
        ++counts_[word];
    }
    ++documents_;
    if (counts_.size() > kCountedMax) {
        std::erase_if(counts_, [](const auto& counted) { return counted.second == 1; });
    }
    if (counts_.size() > kCountedMax) {
        counts_.clear();  // no language has so many words that come again
    }
}

TfIdf WordCounter::finish() const {
    std::vector<std::pair<std::uint64_t, std::string>> known;
    for (const auto& [word, count] : counts_) {
        if (count > 1 && count < documents_) {
            known.emplace_back(count, word);
        }
    }
    std::ranges::sort(known, [](const auto& one, const auto& other) {
        return one.first != other.first ? one.first > other.first : one.second < other.second;
    });
    known.resize(std::min(known.size(), TfIdf::kWordsMax));
    std::ranges::sort(known, {}, [](const auto& counted) { return counted.second; });
    std::vector<std::string> words;
    std::vector<float> rarity;
    for (const auto& [count, word] : known) {
        words.push_back(word);
        const double share = static_cast<double>(documents_) / static_cast<double>(count);
        rarity.push_back(static_cast<float>(std::log(share)));
    }
    return {std::move(words), std::move(rarity)};
}

}  // namespace stacking::composition
