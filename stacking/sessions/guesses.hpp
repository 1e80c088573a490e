// Guesses of the next tokens of a text, from the text itself: what followed the last time when its
// last tokens were the same. A frame carries a token with its guesses through all hops, and the
// last hop draws after each of them; those that were right are tokens for one round trip. A wrong
// guess costs a row at each hop, so the number of guesses follows from how often they were right,
// apart for short and long matches, from the times of frames with and without, and from what the
// hops say that a row costs all texts that they compute together.
// Invariant: the text does not depend on guesses, only the time it takes.
// Threading: single strand. Cost: next() O(text, up to kLookBack). Memory: constant.
// Source: prompt lookup decoding (Saxena, 2023), without its model; the choice of the number
// follows Leviathan et al., "Fast Inference from Transformers via Speculative Decoding", 2023,
// section 3.3, with measured times in place of their c.
#pragma once

#include "stacking/session_compute.hpp"
#include "swarm/base/units.hpp"

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace stacking::sessions {

class Guesses {
 public:
    static constexpr std::size_t kLookBack = 16'384;  // tokens
    static constexpr std::size_t kMatchLeast = 2;
    static constexpr std::size_t kMatchMost = 8;

    /// Returns at most `most` guesses of what follows the text; none where they would not pay.
    std::vector<TokenId> next(std::span<const TokenId> text, std::uint32_t most);

    /// Takes what became of the last frame: how many of its guesses were right, and how long it
    /// took from the client to the client. `price`: time that a guess costs, as the hops say.
    void learn(std::uint32_t right, swarm::Duration took, swarm::Duration price = {});

 private:
    /// A place in the text whose tokens are those at its end.
    struct Place {
        std::size_t next = 0;    // index of the token after it
        std::size_t length = 0;  // tokens in common; 0: none was found
    };

    static constexpr std::size_t kClasses = 3;  // short, middle and long matches

    static Place find(std::span<const TokenId> text);
    [[nodiscard]] std::uint32_t worth(double right, std::uint32_t most) const;

    std::array<double, kClasses> right_{0.3, 0.5, 0.7};  // chance that a guess is right
    std::size_t class_ = 0;      // the frame under way has one of this class
    std::uint32_t guessed_ = 0;  // in the frame under way
    std::uint32_t skipped_ = 0;  // matches without guesses since the last
    double plain_s_ = 0;         // time of a frame without guesses; 0: none was measured
    double guess_s_ = 0;         // time that a guess adds
    double price_s_ = 0;         // time that it adds to all texts of the hops
};

}  // namespace stacking::sessions
