// One answer of a request while it comes: its text, token by token, and why it ends.
// Invariant: text that was given out is never taken back; nothing of a stop text, and nothing of
// an end token, is given out.
// Threading: one thread. Memory: the answer's text, ids and, when they are wanted, probabilities.
#pragma once

#include "stacking/api/api_model.hpp"
#include "stacking/api/completion_request.hpp"
#include "stacking/tokenizers/answer_text.hpp"
#include "swarm/node/report.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace stacking::api {

/// A token with its probability, as clients are told.
struct ToldToken {
    std::string bytes;  // the token's own, which may be a part of a character
    double log_probability = 0;
};

struct TokenLogprobs {
    ToldToken token;
    std::vector<ToldToken> top;   // best first
    std::size_t text_offset = 0;  // characters of the answer before the token
};

class Choice {
 public:
    enum class End { Stop, Length };

    /// The addition of a token to the answer.
    struct Piece {
        std::string text;
        std::vector<TokenId> ids;             // empty: no ids are told
        std::vector<TokenLogprobs> logprobs;  // empty: none are told
    };

    /// `request` and `model` outlive this object.
    Choice(const CompletionRequest& request, std::size_t prompt, const ApiModel& model);

    /// REQUIRES: !end().
    Piece take(const swarm::node::TokenStreamed& token);

    /// Set once no more tokens belong to the answer.
    [[nodiscard]] const std::optional<End>& end() const { return end_; }

    /// Tokens that were computed, an end token included.
    [[nodiscard]] std::uint32_t tokens() const { return tokens_; }

    [[nodiscard]] std::size_t prompt() const { return prompt_; }

 private:
    [[nodiscard]] TokenLogprobs logprobs_of(const swarm::node::TokenStreamed& token) const;
    [[nodiscard]] ToldToken told(TokenId token, double log_probability) const;

    const CompletionRequest* request_;
    const ApiModel* model_;
    std::size_t prompt_;
    tokenizers::AnswerText text_;
    std::size_t characters_ = 0;  // counted with the probabilities
    std::uint32_t tokens_ = 0;
    std::optional<End> end_;
};

/// "stop" or "length"
const char* name_of(Choice::End end);

}  // namespace stacking::api
