// Fourth part of SessionFlow: frames with guesses of the next tokens, and the tokens they bring.
#include "stacking/sessions/session_flow.hpp"
#include "swarm/protocol/limits.hpp"

#include <algorithm>

namespace stacking::sessions {

/// Early exits and members of an ensemble draw token by token.
std::vector<TokenId> SessionFlow::guess() {
    std::uint32_t most = std::min({request_.guesses_max, protocol::kGuessesMax, left_ - 1});
    if (member_ || request_.exit_threshold <= 1) {
        most = 0;
    } else if (request_.sampling.top > 0) {
        most = std::min(most, protocol::kDrawnScoresMax / request_.sampling.top - 1);
    }
    return guesses_.next(tokens_, most);
}

/// Number of first guesses that were the tokens which were then drawn.
std::uint32_t SessionFlow::right_guesses(const protocol::SessionToken& token) const {
    const std::size_t most = std::min(guessed_.size(), token.further.size());
    std::uint32_t right = 0;
    TokenId drawn = token.token;
    while (right < most && guessed_[right] == drawn) {
        drawn = token.further[right].token;
        ++right;
    }
    return right;
}

/// Takes the token, and those after guesses that were right.
void SessionFlow::take_tokens(const protocol::SessionToken& token, node::Turn turn) {
    const std::uint32_t right = right_guesses(token);
    if (!replaying_ && known() > request_.prompt.size()) {
        const std::chrono::microseconds price(token.guess_us);
        guesses_.learn(right, turn.now - sent_at_, price);
    }
    node::TokenStreamed told{
        request_.request,
        token.position,
        token.token,
        token.top,
        turn.now - token_since_,
        left_ == 1,
        token.hop_us,
        token.id.hop,
        static_cast<std::uint32_t>(guessed_.size())};
    turn.out.add(node::Tell{told});
    bool goes_on = add(token.token, turn);
    for (std::uint32_t i = 0; goes_on && i < right; ++i) {
        told.position = known();
        told.token = token.further[i].token;
        told.top = token.further[i].top;
        told.took = swarm::Duration::zero();
        told.last = left_ == 1;
        told.guessed = 0;
        told.was_guessed = true;
        turn.out.add(node::Tell{told});
        goes_on = add(told.token, turn);
    }
    if (goes_on) {
        ask_for_next(turn);
    }
}

}  // namespace stacking::sessions
