// Finds a text in another one, in time that is linear in both whatever they are: Knuth, Morris and
// Pratt's search. std::string::find() takes the product of both for "aaab" in "aaaa...".
// Invariant: what is found ends before what is found next begins.
// Threading: const and any thread. Cost: 4 bytes for each byte that is wanted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace stacking::tokenizers::jinja {

class TextSearch {
 public:
    static constexpr std::size_t kNone = std::string_view::npos;

    enum class From { Left, Right };

    /// Both outlive this object. REQUIRES: `wanted` has less than 4 GiB.
    TextSearch(std::string_view text, std::string_view wanted, From from = From::Left);

    /// Returns where the next one begins; kNone: there is none. An empty one is found nowhere.
    std::size_t next();

    /// Counts those that next() would find, `most` at most.
    std::size_t count(std::size_t most = kNone);

 private:
    [[nodiscard]] char text_at(std::size_t at) const {
        return text_[from_ == From::Left ? at : text_.size() - 1 - at];
    }

    [[nodiscard]] char wanted_at(std::size_t at) const {
        return wanted_[from_ == From::Left ? at : wanted_.size() - 1 - at];
    }

    std::string_view text_;
    std::string_view wanted_;
    From from_;
    std::size_t at_ = 0;                  // bytes of the text that are read, from its side
    std::vector<std::uint32_t> borders_;  // longest end of each beginning that is one, too
};

/// Whether the text has the other one, which may be empty.
bool has_part(std::string_view text, std::string_view wanted);

}  // namespace stacking::tokenizers::jinja
