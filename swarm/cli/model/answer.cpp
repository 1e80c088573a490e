#include "swarm/cli/model/answer.hpp"

#include "stacking/tokenizers/chat_template.hpp"
#include "stages/top_tokens.hpp"
#include "swarm/protocol/limits.hpp"

#include <algorithm>
#include <span>
#include <utility>

namespace swarm::cli {
namespace {

using stacking::CacheId;
using stacking::SessionRow;
using stacking::TokenId;
using stacking::tokenizers::AfterMessages;
using stacking::tokenizers::ChatMessage;
using stacking::tokenizers::ChatRole;
using stacking::tokenizers::ChatTemplate;
using stacking::tokenizers::ModelTokenizer;
using stacking::tokenizers::SpecialTokens;

constexpr CacheId kOnly{1};

Error refusal(ErrorCode code, std::string what) {
    return {code, Reaction::Reject, std::move(what)};
}

Result<std::vector<TokenId>> encode_chat(const ModelTokenizer& tokenizer, std::string_view text) {
    const auto chat = ChatTemplate::recognise(tokenizer.chat_template, tokenizer.bpe);
    if (!chat) {
        return refusal(chat.error().code, chat.error().detail + "; use --raw");
    }
    const ChatMessage message{ChatRole::User, std::string(text)};
    return chat->encode(tokenizer.bpe, std::span(&message, 1), AfterMessages::BeginAnswer);
}

/// One session from its prompt to its last token.
class Session {
 public:
    Session(stacking::SessionCompute& compute, const AnswerOptions& options)
        : compute_(compute), options_(options) {}

    /// Runs the tokens, and gives the next one.
    Result<TokenId> next(std::span<const TokenId> tokens) {
        std::vector<SessionRow> rows;
        for (std::size_t i = 0; i < tokens.size(); ++i) {
            rows.push_back({kOnly, filled_++});
        }
        const auto last = static_cast<std::uint32_t>(tokens.size() - 1);
        const auto logits = compute_.forward(rows, tokens, std::span(&last, 1));
        if (!logits) {
            return logits.error();
        }
        const bool greedy = !(options_.sampler.temperature > 0);
        const auto scores = stages::top_tokens(*logits, greedy ? 1 : protocol::kTopTokensMax);
        if (scores.empty()) {
            return refusal(
                ErrorCode::NotFinite,
                "the model's logits after " + std::to_string(filled_) +
                    " tokens are no numbers; its weights are damaged, or too large for --weights"
            );
        }
        return stacking::sample_token(scores, options_.sampler, filled_);
    }

 private:
    stacking::SessionCompute& compute_;
    const AnswerOptions& options_;
    std::uint32_t filled_ = 0;
};

}  // namespace

Result<PromptTokens> encode_prompt(
    const ModelTokenizer& tokenizer, std::string_view text, PromptKind kind
) {
    const auto special =
        kind == PromptKind::Raw ? SpecialTokens::Recognised : SpecialTokens::AsText;
    const auto plain = tokenizer.bpe.encode(text, special);
    if (!plain) {
        return plain.error();
    }
    if (plain->empty()) {
        return refusal(
            ErrorCode::Mismatch,
            text.empty() ? "the prompt is empty" : "no byte of the prompt has a token in this model"
        );
    }
    const auto back = tokenizer.bpe.decode(*plain);
    if (!back) {
        return back.error();
    }
    PromptTokens prompt{*plain, *back != text};
    if (kind == PromptKind::Chat) {
        auto ids = encode_chat(tokenizer, text);
        if (!ids) {
            return ids.error();
        }
        prompt.ids = std::move(*ids);
    }
    return prompt;
}

Result<Answer> answer(
    stacking::SessionCompute& compute,
    const std::vector<TokenId>& prompt,
    const AnswerOptions& options,
    const AnswerHooks& hooks
) {
    if (prompt.empty()) {
        return refusal(ErrorCode::Mismatch, "the prompt has no tokens");
    }
    const std::uint32_t context = compute.shape().context;
    if (prompt.size() >= context) {
        return refusal(
            ErrorCode::TooLarge,
            "the prompt has " + std::to_string(prompt.size()) + " tokens; the model's context is " +
                std::to_string(context) + ", the answer included"
        );
    }
    const auto filled = static_cast<std::uint32_t>(prompt.size());
    // The last token is only told, never run.
    const std::uint32_t tokens_max = std::min(options.tokens_max, context - filled);
    if (auto reserved = compute.reserve(kOnly, filled + tokens_max); !reserved) {
        return reserved.error();
    }
    Session session(compute, options);
    Answer answer;
    const double begin = hooks.seconds();
    Result<TokenId> token = session.next(prompt);
    const double read = hooks.seconds();
    while (token) {
        if (std::ranges::find(options.end_tokens, *token) != options.end_tokens.end()) {
            break;
        }
        answer.ids.push_back(*token);
        hooks.on_token(*token);
        if (answer.ids.size() == tokens_max) {
            break;
        }
        const TokenId last = *token;
        token = session.next(std::span(&last, 1));
        ++answer.decoded;
    }
    answer.prefill_s = read - begin;
    answer.decode_s = hooks.seconds() - read;
    compute.drop(kOnly);
    if (!token) {
        return token.error();
    }
    return answer;
}

std::optional<double> rate_of(std::size_t tokens, double seconds) {
    if (tokens == 0 || !(seconds > 0)) {
        return std::nullopt;
    }
    return static_cast<double>(tokens) / seconds;
}

}  // namespace swarm::cli
