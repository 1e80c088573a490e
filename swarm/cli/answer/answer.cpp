#include "swarm/cli/answer/answer.hpp"

#include "stacking/tokenizers/chat_template.hpp"
#include "stages/compute/top_tokens.hpp"
#include "swarm/base/try.hpp"
#include "swarm/cli/common/clock.hpp"
#include "swarm/protocol/limits.hpp"

#include <algorithm>
#include <span>
#include <utility>

namespace swarm::cli {
namespace {

using stacking::TokenId;
using stacking::composition::TextReader;
using stacking::tokenizers::ChatMessage;
using stacking::tokenizers::ChatRole;
using stacking::tokenizers::ChatTemplate;
using stacking::tokenizers::ModelTokenizer;
using stacking::tokenizers::SpecialTokens;

Error refusal(ErrorCode code, std::string what) {
    return {code, Reaction::Reject, std::move(what)};
}

/// Encodes the messages of a conversation with the chat template. `prompt`: what is known of it.
Result<PromptTokens> encode_messages(
    const ModelTokenizer& tokenizer, std::span<const ChatMessage> messages, PromptTokens prompt
) {
    const auto with_remedy = [](const Error& error) {
        return refusal(error.code, error.detail + "; use --raw");
    };
    const Result<ChatTemplate> chat = ChatTemplate::compile(tokenizer);
    if (!chat) {
        return with_remedy(chat.error());
    }
    auto ids = chat->encode(tokenizer, messages, {.now_s = local_time_s()});
    if (!ids && ids.error().code == ErrorCode::Mismatch) {
        return refusal(
            ErrorCode::Mismatch, "the model's chat template refuses this: " + ids.error().detail
        );
    }
    if (!ids) {
        return with_remedy(ids.error());
    }
    prompt.ids = std::move(*ids);
    return prompt;
}

/// Reads the tokens and returns the next one, whose position is `position`.
Result<TokenId> next_token(
    TextReader& reader,
    std::span<const TokenId> tokens,
    std::uint32_t position,
    const AnswerOptions& options
) {
    SWARM_TRY(const auto scores, reader.read(tokens, TextReader::Wanted::AfterLast));
    const bool greedy = !(options.sampler.temperature > 0);
    const auto best = stages::top_tokens(scores, greedy ? 1 : protocol::kTopTokensMax);
    if (best.empty()) {
        return refusal(
            ErrorCode::NotFinite,
            "the model's logits after " + std::to_string(position) +
                " tokens are no numbers; its weights are damaged, or too large for --weights"
        );
    }
    return stacking::sample_token(best, options.sampler, position);
}

/// Reads a prompt from `read` on in pieces, so that a long one shows progress and can be given up,
/// until one piece is left. Returns whether somebody still wants the answer.
Result<bool> read_all_but_the_end(
    TextReader& reader,
    std::span<const TokenId> prompt,
    const AnswerHooks& hooks,
    std::uint32_t& read
) {
    while (prompt.size() - read > protocol::kSessionRowsMax) {
        const auto piece = prompt.subspan(read, protocol::kSessionRowsMax);
        SWARM_TRY(reader.read(piece, TextReader::Wanted::AfterLast));
        read += protocol::kSessionRowsMax;
        if (hooks.on_read && !hooks.on_read(read)) {
            return false;
        }
    }
    return true;
}

/// Begins the text, or goes on with as much of the one before as the prompt has in common with it.
/// Returns the tokens that need not be read; the last one of the prompt is read anyway.
Result<std::uint32_t> begin_text(
    TextReader& reader,
    std::span<const TokenId> prompt,
    const AnswerOptions& options,
    std::uint32_t tokens
) {
    const auto most = prompt.first(prompt.size() - 1);
    const auto differs = std::ranges::mismatch(most, options.read_before);
    const auto same = static_cast<std::uint32_t>(differs.in1 - most.begin());
    if (same > 0) {
        return reader.resume(same, tokens);
    }
    SWARM_TRY(reader.begin(tokens));
    return 0U;
}

}  // namespace

Result<PromptTokens> encode_prompt(
    const ModelTokenizer& tokenizer,
    std::string_view text,
    PromptKind kind,
    const std::optional<std::string>& system
) {
    const auto special =
        kind == PromptKind::Raw ? SpecialTokens::Recognised : SpecialTokens::AsText;
    SWARM_TRY(auto plain, tokenizer.encode_counted(text, special));
    if (plain.ids.empty()) {
        return refusal(
            ErrorCode::Mismatch,
            text.empty() ? "the prompt is empty" : "no byte of the prompt has a token in this model"
        );
    }
    PromptTokens prompt;
    prompt.lost_bytes = plain.lost > 0;
    if (kind == PromptKind::Raw) {
        prompt.ids = std::move(plain.ids);
        tokenizer.put_beginning(prompt.ids);
        return prompt;
    }
    std::vector<ChatMessage> messages;
    if (system) {
        SWARM_TRY(const auto counted, tokenizer.encode_counted(*system, SpecialTokens::AsText));
        prompt.lost_bytes = prompt.lost_bytes || counted.lost > 0;
        messages.push_back({ChatRole::System, *system});
    }
    messages.push_back({ChatRole::User, std::string(text)});
    return encode_messages(tokenizer, messages, std::move(prompt));
}

Result<PromptTokens> encode_chat(
    const ModelTokenizer& tokenizer, std::span<const ChatMessage> messages
) {
    PromptTokens prompt;
    for (const ChatMessage& message : messages) {
        SWARM_TRY(
            const auto counted, tokenizer.encode_counted(message.content, SpecialTokens::AsText)
        );
        prompt.lost_bytes = prompt.lost_bytes || counted.lost > 0;
    }
    return encode_messages(tokenizer, messages, std::move(prompt));
}

Result<std::uint32_t> room_for_answer(
    std::size_t prompt, std::uint32_t tokens_max, std::uint32_t context
) {
    if (prompt >= context) {
        return refusal(
            ErrorCode::TooLarge,
            "the prompt has " + std::to_string(prompt) + " tokens; the model's context is " +
                std::to_string(context) + ", the answer included"
        );
    }
    return std::min(tokens_max, context - static_cast<std::uint32_t>(prompt));
}

Result<Answer> answer(
    TextReader& reader,
    const std::vector<TokenId>& prompt,
    const AnswerOptions& options,
    const AnswerHooks& hooks
) {
    if (prompt.empty()) {
        return refusal(ErrorCode::Mismatch, "the prompt has no tokens");
    }
    SWARM_TRY(
        const std::uint32_t tokens_max,
        room_for_answer(prompt.size(), options.tokens_max, reader.context())
    );
    auto position = static_cast<std::uint32_t>(prompt.size());
    Answer answer;
    const double begin = hooks.seconds();
    SWARM_TRY(answer.kept, begin_text(reader, prompt, options, position + tokens_max));
    answer.read = answer.kept;
    SWARM_TRY(const bool wanted, read_all_but_the_end(reader, prompt, hooks, answer.read));
    if (!wanted) {
        answer.prefill_s = hooks.seconds() - begin;
        return answer;
    }
    Result<TokenId> token =
        next_token(reader, std::span(prompt).subspan(answer.read), position, options);
    answer.read = position;
    const double read = hooks.seconds();
    while (token) {
        if (std::ranges::find(options.end_tokens, *token) != options.end_tokens.end()) {
            break;
        }
        answer.ids.push_back(*token);
        if (!hooks.on_token(*token) || answer.ids.size() == tokens_max) {
            break;
        }
        const TokenId last = *token;
        token = next_token(reader, std::span(&last, 1), ++position, options);
        answer.read = position;
        ++answer.decoded;
    }
    answer.prefill_s = read - begin;
    answer.decode_s = hooks.seconds() - read;
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
