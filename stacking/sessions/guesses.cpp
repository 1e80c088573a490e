#include "stacking/sessions/guesses.hpp"

#include <algorithm>
#include <cmath>

namespace stacking::sessions {
namespace {

constexpr double kWeight = 0.1;  // the last frame has it in moving means
/// Gain below which a guess is not worth the work that it makes for the peers.
constexpr double kGainLeast = 1.03;
/// One in so many matches is tried although it does not seem worth it: texts change.
constexpr std::uint32_t kTryEvery = 32;
constexpr std::uint32_t kTried = 2;  // guesses of such a try

void move_towards(double& mean, double value) {
    mean += kWeight * (value - mean);
}

std::size_t class_of(std::size_t length) {
    constexpr std::size_t kMiddle = 4;
    return length < kMiddle ? 0 : length < Guesses::kMatchMost ? 1 : 2;
}

}  // namespace

/// Finds the longest match, and of equals the last one.
Guesses::Place Guesses::find(std::span<const TokenId> text) {
    Place best;
    const std::size_t least = text.size() > kLookBack ? text.size() - kLookBack : 1;
    for (std::size_t next = text.size() - 1; next >= least && best.length < kMatchMost; --next) {
        std::size_t length = 0;
        while (length < kMatchMost && length < next &&
               text[next - 1 - length] == text[text.size() - 1 - length]) {
            ++length;
        }
        if (length >= kMatchLeast && length > best.length) {
            best = {next, length};
        }
    }
    return best;
}

/// Returns the number of guesses with which tokens come fastest.
std::uint32_t Guesses::worth(double right, std::uint32_t most) const {
    double tokens = 1;  // expected ones of a frame
    double chance = 1;  // that all guesses so far are right
    double best = kGainLeast;
    std::uint32_t number = 0;
    for (std::uint32_t guesses = 1; guesses <= most; ++guesses) {
        chance *= right;
        tokens += chance;
        const double cost_s = guesses * std::max(guess_s_, price_s_);
        const double slower = plain_s_ > 0 ? 1 + cost_s / plain_s_ : 1;
        if (tokens / slower > best) {
            best = tokens / slower;
            number = guesses;
        }
    }
    return number;
}

std::vector<TokenId> Guesses::next(std::span<const TokenId> text, std::uint32_t most) {
    guessed_ = 0;
    std::vector<TokenId> guesses;
    const Place place = most == 0 || text.size() <= kMatchLeast ? Place{} : find(text);
    if (place.length == 0) {
        return guesses;
    }
    class_ = class_of(place.length);
    guessed_ = worth(right_[class_], most);
    if (guessed_ > 0) {
        skipped_ = 0;
    } else if (++skipped_ % kTryEvery == 0) {
        guessed_ = std::min(kTried, most);
    }
    for (std::size_t i = 0; i < guessed_; ++i) {
        const std::size_t at = place.next + i;  // beyond the text go the guesses themselves
        guesses.push_back(at < text.size() ? text[at] : guesses[at - text.size()]);
    }
    return guesses;
}

void Guesses::learn(std::uint32_t right, swarm::Duration took, swarm::Duration price) {
    const double s = swarm::in_seconds(took);
    price_s_ = swarm::in_seconds(price);
    if (guessed_ == 0) {
        plain_s_ = plain_s_ == 0 ? s : plain_s_;
        move_towards(plain_s_, s);
        return;
    }
    for (std::uint32_t i = 0; i < std::min(right + 1, guessed_); ++i) {
        move_towards(right_[class_], i < right ? 1 : 0);
    }
    if (plain_s_ > 0) {
        move_towards(guess_s_, std::max(0.0, (s - plain_s_) / guessed_));
    }
}

}  // namespace stacking::sessions
