#include "stacking/api/choice.hpp"

#include "swarm/base/check.hpp"

#include <algorithm>
#include <span>

namespace stacking::api {
namespace {

/// Stands for a probability that is not known because the token is none of the likeliest.
constexpr double kUnlikely = -9999;

std::size_t characters_of(std::string_view text) {
    return static_cast<std::size_t>(std::ranges::count_if(text, [](char byte) {
        return (static_cast<unsigned char>(byte) & 0xc0U) != 0x80U;
    }));
}

}  // namespace

const char* name_of(Choice::End end) {
    return end == Choice::End::Stop ? "stop" : "length";
}

Choice::Choice(const CompletionRequest& request, std::size_t prompt, const ApiModel& model)
    : request_(&request), model_(&model), prompt_(prompt), text_(model.tokenizer, request.stops) {}

Choice::Piece Choice::take(const swarm::node::TokenStreamed& token) {
    SWARM_ASSERT(!end_);
    ++tokens_;
    Piece piece;
    const bool ends =
        std::ranges::find(model_->end_tokens, token.token) != model_->end_tokens.end();
    if (ends && !request_->ignores_end) {
        end_ = End::Stop;
        piece.text = text_.finish();
        return piece;
    }
    if (request_->top_logprobs) {
        piece.logprobs.push_back(logprobs_of(token));
        characters_ += characters_of(piece.logprobs.back().token.bytes);
    }
    if (request_->tells_ids) {
        piece.ids.push_back(token.token);
    }
    piece.text = text_.add(token.token);
    if (text_.is_stopped()) {
        end_ = End::Stop;
    } else if (token.last) {
        end_ = End::Length;
    }
    if (end_) {
        piece.text += text_.finish();
    }
    return piece;
}

ToldToken Choice::told(TokenId token, double log_probability) const {
    const auto bytes = model_->tokenizer.decode(std::span(&token, 1));
    return {bytes ? *bytes : "", std::max(log_probability, kUnlikely)};
}

TokenLogprobs Choice::logprobs_of(const swarm::node::TokenStreamed& token) const {
    TokenLogprobs found;
    found.text_offset = characters_;
    const auto own = std::ranges::find(token.top, token.token, &swarm::protocol::TokenScore::token);
    found.token = told(token.token, own == token.top.end() ? kUnlikely : own->log_probability);
    const std::size_t wanted = *request_->top_logprobs;
    for (const auto& score : std::span(token.top).first(std::min(wanted, token.top.size()))) {
        found.top.push_back(told(score.token, score.log_probability));
    }
    return found;
}

}  // namespace stacking::api
