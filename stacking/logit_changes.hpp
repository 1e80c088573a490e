// Changes the logits of the next token by what a request and its text say, before the likeliest are
// found: biases first, then the penalty of repetition, then those of frequency and presence.
// It is a pure function of (sampling, text), so a hop that takes over a session draws the same.
// Threading: const and any thread. Errors: none; tokens beyond the vocabulary are ignored.
// Cost: O(text log text) to make, O(changes) to apply.
// Source: repetition: Keskar et al., "CTRL", 2019, section 4.1, as Hugging Face's generate() does
// it; frequency and presence: OpenAI's API, which counts generated tokens only.
#pragma once

#include "swarm/protocol/message.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace stacking {

class LogitChanges {
 public:
    LogitChanges() = default;
    /// `text`: the tokens at positions from 0, prompt included. It may be empty where
    /// sampling.reads_text() is false.
    LogitChanges(const swarm::protocol::Sampling& sampling, std::span<const std::uint32_t> text);

    /// Changes logits (V).
    void apply(std::span<float> logits) const;

    [[nodiscard]] bool is_empty() const { return biases_.empty() && used_.empty(); }

 private:
    /// A token of the text.
    struct Used {
        std::uint32_t token = 0;
        float off = 0;  // taken off its logit
    };

    std::vector<swarm::protocol::TokenBias> biases_;
    std::vector<Used> used_;  // each token once
    float repetition_ = 1;
};

}  // namespace stacking
