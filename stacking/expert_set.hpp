// A set of the experts of a mixture, as it travels: bit e % 64 of word e / 64 stands for expert e.
// Invariant: no expert from kExpertsMax on is in the set, and the last word is not 0.
// Threading: a value. Errors: none; bits beyond the bound are dropped. Cost: O(words).
#pragma once

#include "swarm/protocol/limits.hpp"

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace stacking {

class ExpertSet {
 public:
    ExpertSet() = default;

    static ExpertSet of_words(std::span<const std::uint64_t> words) {
        ExpertSet set;
        for (std::uint32_t expert = 0; expert < swarm::protocol::kExpertsMax; ++expert) {
            if (expert / kBits < words.size() &&
                (words[expert / kBits] >> (expert % kBits) & 1U) != 0) {
                set.add(expert);
            }
        }
        return set;
    }

    void add(std::uint32_t expert) {
        if (expert < swarm::protocol::kExpertsMax) {
            words_.resize(std::max<std::size_t>(words_.size(), expert / kBits + 1));
            words_[expert / kBits] |= std::uint64_t{1} << (expert % kBits);
        }
    }

    [[nodiscard]] bool has(std::uint32_t expert) const {
        return expert / kBits < words_.size() &&
               (words_[expert / kBits] >> (expert % kBits) & 1U) != 0;
    }

    [[nodiscard]] bool empty() const { return words_.empty(); }

    [[nodiscard]] const std::vector<std::uint64_t>& words() const { return words_; }

    /// The experts in rising order.
    [[nodiscard]] std::vector<std::uint32_t> list() const {
        std::vector<std::uint32_t> experts;
        for (std::uint32_t expert = 0; expert < words_.size() * kBits; ++expert) {
            if (has(expert)) {
                experts.push_back(expert);
            }
        }
        return experts;
    }

    friend bool operator==(const ExpertSet&, const ExpertSet&) = default;

 private:
    static constexpr std::uint32_t kBits = 64;

    std::vector<std::uint64_t> words_;
};

}  // namespace stacking
