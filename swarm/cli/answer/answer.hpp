// The answer of a model or a stack in this process: takes the tokens of a prompt, and gives tokens
// one by one.
// Invariant: the tokens are a function of prompt, weights, and the options of the sampler.
// Threading: one thread. Errors: Mismatch (no token in the prompt), TooLarge (the prompt fills the
// context), NotFinite (logits that are no numbers); Reject.
// Cost: a forward over the prompt, then one per token; the KV pages of one session.
#pragma once

#include "stacking/composition/text_reader.hpp"
#include "stacking/models/architecture.hpp"
#include "stacking/sampler.hpp"
#include "stacking/tokenizers/chat_template.hpp"
#include "stacking/tokenizers/model_tokenizer.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace swarm::cli {

enum class PromptKind {
    Chat,  // a message of a user, in the chat template of the model
    Raw,   // the beginning of a text; names of special tokens stand for these tokens
};

struct PromptTokens {
    std::vector<stacking::TokenId> ids;
    bool lost_bytes = false;  // bytes without a token were left out
};

/// `system`: the system message of a chat; nullopt: that of the template. REQUIRES: none with Raw.
Result<PromptTokens> encode_prompt(
    const stacking::tokenizers::ModelTokenizer& tokenizer,
    std::string_view text,
    PromptKind kind,
    const std::optional<std::string>& system = {}
);

/// Returns a conversation in tokens, with the beginning of an answer.
Result<PromptTokens> encode_chat(
    const stacking::tokenizers::ModelTokenizer& tokenizer,
    std::span<const stacking::tokenizers::ChatMessage> messages
);

/// Returns the number of tokens that may follow a prompt of so many tokens: `tokens_max`, or as
/// many as the context leaves. TooLarge: it leaves none.
Result<std::uint32_t> room_for_answer(
    std::size_t prompt, std::uint32_t tokens_max, std::uint32_t context
);

struct AnswerOptions {
    std::uint32_t tokens_max = 0;
    /// The answer ends before any of them.
    std::vector<std::uint32_t> end_tokens;
    stacking::SamplerOptions sampler;
    /// The text that the reader has read before. If the prompt begins like it, that part is not
    /// read again; the tokens of the answer do not depend on it.
    std::span<const stacking::TokenId> read_before{};
};

/// The generated tokens, and the times by the clock that the caller gave.
struct Answer {
    std::vector<stacking::TokenId> ids;
    double prefill_s = 0;
    double decode_s = 0;
    std::uint32_t decoded = 0;  // forwards of one token each
    std::uint32_t kept = 0;     // tokens of the prompt that the reader knew
    std::uint32_t read = 0;     // tokens of prompt and answer that it knows now
};

struct AnswerHooks {
    std::function<double()> seconds;  // a clock
    /// Called as soon as a token is known. False: nobody wants further ones, so the answer ends.
    std::function<bool(stacking::TokenId)> on_token;
    /// Called as the prompt is read, with the number of its tokens that are read. False: the answer
    /// ends without a token.
    std::function<bool(std::size_t)> on_read{};
};

Result<Answer> answer(
    stacking::composition::TextReader& reader,
    const std::vector<stacking::TokenId>& prompt,
    const AnswerOptions& options,
    const AnswerHooks& hooks
);

/// Returns tokens per second; nullopt: no token was counted.
std::optional<double> rate_of(std::size_t tokens, double seconds);

}  // namespace swarm::cli
