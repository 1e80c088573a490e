// Text out of a model, or a stack, in this process: a prompt's tokens in, tokens out one by one.
// Invariant: the tokens are a function of prompt, weights, temperature and seed.
// Threading: one thread. Errors: Mismatch (no token in the prompt), TooLarge (the prompt fills the
// context), NotFinite (logits that are no numbers); Reject.
// Cost: a forward over the prompt, then one per token; the KV pages of one session.
#pragma once

#include "stacking/models/architecture.hpp"
#include "stacking/sampler.hpp"
#include "stacking/stack/text_reader.hpp"
#include "stacking/tokenizers/model_tokenizer.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace swarm::cli {

enum class PromptKind {
    Chat,  // what a user says, in the model's chat template
    Raw,   // the beginning of a text; names of special tokens mean these tokens
};

struct PromptTokens {
    std::vector<stacking::TokenId> ids;
    bool lost_bytes = false;  // some have no token, and were left out
};

Result<PromptTokens> encode_prompt(
    const stacking::tokenizers::ModelTokenizer& tokenizer, std::string_view text, PromptKind kind
);

/// How many tokens may follow such a prompt: `tokens_max`, or what the context leaves. TooLarge
/// when it leaves nothing.
Result<std::uint32_t> room_for_answer(
    std::size_t prompt, std::uint32_t tokens_max, std::uint32_t context
);

struct AnswerOptions {
    std::uint32_t tokens_max = 0;
    std::vector<std::uint32_t>
        end_tokens;  // the answer ends at any of them, which is not part of it
    stacking::SamplerOptions sampler;
};

/// What was generated, and how long it took by the clock that was given.
struct Answer {
    std::vector<stacking::TokenId> ids;
    double prefill_s = 0;
    double decode_s = 0;
    std::uint32_t decoded = 0;  // forwards of one token each
};

struct AnswerHooks {
    std::function<double()> seconds;                  // a clock
    std::function<void(stacking::TokenId)> on_token;  // as each one is known
};

Result<Answer> answer(
    stacking::stack::TextReader& reader,
    const std::vector<stacking::TokenId>& prompt,
    const AnswerOptions& options,
    const AnswerHooks& hooks
);

/// Tokens per second; nullopt when nothing was counted.
std::optional<double> rate_of(std::size_t tokens, double seconds);

}  // namespace swarm::cli
