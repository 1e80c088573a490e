// Texts as vectors of their words: how often a word comes in a text, and how rare it is elsewhere.
//   weight = (1 + ln count) x ln(documents / documents with the word), scaled to length 1
// A word is a run of ASCII letters and digits and of bytes above 127, in lower case.
// Invariant: a vector is a function of the words and the text. Threading: values.
// Errors: none; a text without known words has the empty vector, which is like no other.
// Bounds: kWordsMax words; Counter keeps kCountedMax, and forgets those that came once.
// Source: c-BTM (Gururangan et al. 2023, arXiv 2303.14177, section 2.1). Deviation: no projection
// to 100 dimensions, because the vectors are sparse.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace stacking::composition {

struct Term {
    std::uint32_t word = 0;
    float weight = 0;

    friend bool operator==(const Term&, const Term&) = default;
};

/// In the order of words, each once; of length 1, or empty.
using TermVector = std::vector<Term>;

double dot(const TermVector& one, const TermVector& other);
/// Divides by the length, if there is one.
void scale_to_one(TermVector& vector);

class TfIdf {
 public:
    static constexpr std::size_t kWordsMax = 8192;

    TfIdf() = default;

    /// One weight per word. REQUIRES: the words are sorted, each once.
    TfIdf(std::vector<std::string> words, std::vector<float> rarity)
        : words_(std::move(words)), rarity_(std::move(rarity)) {}

    [[nodiscard]] TermVector vector_of(std::string_view text) const;

    [[nodiscard]] const std::vector<std::string>& words() const { return words_; }

    [[nodiscard]] const std::vector<float>& rarity() const { return rarity_; }

 private:
    std::vector<std::string> words_;
    std::vector<float> rarity_;
};

/// Counts in how many documents each word is.
class WordCounter {
 public:
    static constexpr std::size_t kCountedMax = 1U << 20;

    void add(std::string_view document);

    /// Takes the words of most documents, of those that are in two documents at least and not in
    /// all of them.
    [[nodiscard]] TfIdf finish() const;

    [[nodiscard]] std::uint64_t documents() const { return documents_; }

 private:
    std::map<std::string, std::uint64_t, std::less<>> counts_;
    std::uint64_t documents_ = 0;
};

}  // namespace stacking::composition
