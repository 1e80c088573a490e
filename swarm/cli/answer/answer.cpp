#include "swarm/cli/answer/answer.hpp"

#include "stacking/tokenizers/chat_template.hpp"
#include "stages/compute/top_tokens.hpp"
#include "swarm/base/try.hpp"
#include "swarm/protocol/limits.hpp"

#include <algorithm>
#include <span>
#include <utility>

namespace swarm::cli {
namespace {

using stacking::TokenId;
using stacking::composition::TextReader;
using stacking::tokenizers::AfterMessages;
using stacking::tokenizers::ByteBpe;
using stacking::tokenizers::ChatMessage;
using stacking::tokenizers::ChatRole;
using stacking::tokenizers::ChatTemplate;
using stacking::tokenizers::ModelTokenizer;
using stacking::tokenizers::SpecialTokens;

Error refusal(ErrorCode code, std::string what) {
    return {code, Reaction::Reject, std::move(what)};
}

Result<std::vector<TokenId>> encode_chat(
    const ModelTokenizer& tokenizer, std::string_view text, const std::optional<std::string>& system
) {
    if (tokenizer.bpe() == nullptr) {
        return refusal(ErrorCode::Unsupported, "the model has no chat template; use --raw");
    }
    const ByteBpe& bpe = *tokenizer.bpe();
    const auto chat = ChatTemplate::recognise(tokenizer.chat_template(), bpe);
    if (!chat) {
        return refusal(chat.error().code, chat.error().detail + "; use --raw");
    }
    std::vector<ChatMessage> messages;
    if (system) {
        messages.push_back({ChatRole::System, *system});
    }
    messages.push_back({ChatRole::User, std::string(text)});
    return chat->encode(bpe, messages, AfterMessages::BeginAnswer);
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

/// Reads a prompt in pieces, so that a long one shows progress. Returns the number of tokens that
/// were read; at least one is left.
Result<std::size_t> read_all_but_the_end(
    TextReader& reader, std::span<const TokenId> prompt, const AnswerHooks& hooks
) {
    std::size_t read = 0;
    while (prompt.size() - read > protocol::kSessionRowsMax) {
        const auto piece = prompt.subspan(read, protocol::kSessionRowsMax);
        SWARM_TRY(reader.read(piece, TextReader::Wanted::AfterLast));
        read += piece.size();
        if (hooks.on_read) {
            hooks.on_read(read);
        }
    }
    return read;
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
    SWARM_TRY(const auto plain, tokenizer.encode(text, special));
    SWARM_TRY(const std::size_t lost, tokenizer.count_lost(text, special));
    if (plain.empty()) {
        return refusal(
            ErrorCode::Mismatch,
            text.empty() ? "the prompt is empty" : "no byte of the prompt has a token in this model"
        );
    }
    PromptTokens prompt{{}, lost > 0};
    if (kind == PromptKind::Chat) {
        SWARM_TRY(prompt.ids, encode_chat(tokenizer, text, system));
    } else {
        SWARM_TRY(prompt.ids, tokenizer.encode_beginning(text, special));
    }
    if (system) {
        SWARM_TRY(const std::size_t more, tokenizer.count_lost(*system, SpecialTokens::AsText));
        prompt.lost_bytes = prompt.lost_bytes || more > 0;
    }
    return prompt;
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
    SWARM_TRY(reader.begin(position + tokens_max));
    Answer answer;
    const double begin = hooks.seconds();
    SWARM_TRY(const std::size_t known, read_all_but_the_end(reader, prompt, hooks));
    Result<TokenId> token = next_token(reader, std::span(prompt).subspan(known), position, options);
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
