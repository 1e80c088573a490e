#include "stacking/api/answer_shapes.hpp"

#include "stacking/tokenizers/utf8.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include <utility>

namespace stacking::api {
namespace {

json::object frame_of(const AnswerHead& head, const char* kind) {
    return {
        {"id", head.id}, {"object", kind}, {"created", head.created_unix_s}, {"model", head.model}};
}

const char* whole_kind(const AnswerHead& head) {
    return head.endpoint == Endpoint::Chat ? "chat.completion" : "text_completion";
}

const char* piece_kind(const AnswerHead& head) {
    return head.endpoint == Endpoint::Chat ? "chat.completion.chunk" : "text_completion";
}

json::object chat_logprob(const ToldToken& token) {
    json::array bytes;
    for (const char byte : token.bytes) {
        bytes.push_back(static_cast<unsigned char>(byte));
    }
    return {
        {"token", tokenizers::to_utf8(token.bytes)},
        {"logprob", token.log_probability},
        {"bytes", std::move(bytes)}};
}

json::value chat_logprobs(const std::vector<TokenLogprobs>& logprobs) {
    if (logprobs.empty()) {
        return nullptr;
    }
    json::array content;
    for (const TokenLogprobs& one : logprobs) {
        json::array top;
        for (const ToldToken& token : one.top) {
            top.push_back(chat_logprob(token));
        }
        json::object token = chat_logprob(one.token);
        token["top_logprobs"] = std::move(top);
        content.push_back(std::move(token));
    }
    return json::object{{"content", std::move(content)}, {"refusal", nullptr}};
}

json::value text_logprobs(const std::vector<TokenLogprobs>& logprobs) {
    if (logprobs.empty()) {
        return nullptr;
    }
    json::array tokens;
    json::array own;
    json::array tops;
    json::array offsets;
    for (const TokenLogprobs& one : logprobs) {
        tokens.emplace_back(tokenizers::to_utf8(one.token.bytes));
        own.emplace_back(one.token.log_probability);
        json::object top;
        for (const ToldToken& token : one.top) {
            top[tokenizers::to_utf8(token.bytes)] = token.log_probability;
        }
        tops.emplace_back(std::move(top));
        offsets.emplace_back(one.text_offset);
    }
    return json::object{
        {"tokens", std::move(tokens)},
        {"token_logprobs", std::move(own)},
        {"top_logprobs", std::move(tops)},
        {"text_offset", std::move(offsets)}};
}

json::value logprobs_of(Endpoint endpoint, const std::vector<TokenLogprobs>& logprobs) {
    return endpoint == Endpoint::Chat ? chat_logprobs(logprobs) : text_logprobs(logprobs);
}

json::value name_or_null(const std::optional<Choice::End>& end) {
    return end ? json::value(name_of(*end)) : json::value(nullptr);
}

json::object usage_of(const Usage& usage) {
    return {
        {"prompt_tokens", usage.prompt_tokens},
        {"completion_tokens", usage.completion_tokens},
        {"total_tokens", usage.prompt_tokens + usage.completion_tokens},
        {"prompt_tokens_details", {{"cached_tokens", usage.reused_tokens}}}};
}

std::string event(const json::object& data) {
    return "data: " + json::serialize(data) + "\n\n";
}

/// An event with one choice.
std::string event_of_choice(const AnswerHead& head, json::object choice, bool tells_usage) {
    json::object frame = frame_of(head, piece_kind(head));
    frame["choices"] = json::array{std::move(choice)};
    if (tells_usage) {
        frame["usage"] = nullptr;  // the last event has it
    }
    return event(frame);
}

}  // namespace

const std::string kLastEvent = "data: [DONE]\n\n";

std::string json_of_answer(
    const AnswerHead& head, const std::vector<WholeChoice>& choices, const Usage& usage
) {
    json::array told;
    for (const WholeChoice& choice : choices) {
        json::object one{
            {"index", choice.index},
            {"logprobs", logprobs_of(head.endpoint, choice.all.logprobs)},
            {"finish_reason", name_or_null(choice.end)}};
        if (head.endpoint == Endpoint::Chat) {
            one["message"] = json::object{
                {"role", "assistant"}, {"content", choice.all.text}, {"refusal", nullptr}};
        } else {
            one["text"] = choice.all.text;
        }
        if (!choice.all.ids.empty()) {
            one["token_ids"] = json::array(choice.all.ids.begin(), choice.all.ids.end());
        }
        told.push_back(std::move(one));
    }
    json::object answer = frame_of(head, whole_kind(head));
    answer["choices"] = std::move(told);
    answer["usage"] = usage_of(usage);
    return json::serialize(answer);
}

std::string event_of_role(const AnswerHead& head, std::size_t index, bool tells_usage) {
    json::object choice{
        {"index", index},
        {"delta", json::object{{"role", "assistant"}, {"content", ""}}},
        {"logprobs", nullptr},
        {"finish_reason", nullptr}};
    return event_of_choice(head, std::move(choice), tells_usage);
}

std::string event_of_piece(
    const AnswerHead& head, std::size_t index, const Choice::Piece& piece, bool tells_usage
) {
    json::object choice{
        {"index", index},
        {"logprobs", logprobs_of(head.endpoint, piece.logprobs)},
        {"finish_reason", nullptr}};
    if (head.endpoint == Endpoint::Chat) {
        choice["delta"] = json::object{{"content", piece.text}};
    } else {
        choice["text"] = piece.text;
    }
    if (!piece.ids.empty()) {
        choice["token_ids"] = json::array(piece.ids.begin(), piece.ids.end());
    }
    return event_of_choice(head, std::move(choice), tells_usage);
}

std::string event_of_end(
    const AnswerHead& head, std::size_t index, Choice::End end, bool tells_usage
) {
    json::object choice{{"index", index}, {"logprobs", nullptr}, {"finish_reason", name_of(end)}};
    if (head.endpoint == Endpoint::Chat) {
        choice["delta"] = json::object();
    } else {
        choice["text"] = "";
    }
    return event_of_choice(head, std::move(choice), tells_usage);
}

std::string event_of_usage(const AnswerHead& head, const Usage& usage) {
    json::object frame = frame_of(head, piece_kind(head));
    frame["choices"] = json::array();
    frame["usage"] = usage_of(usage);
    return event(frame);
}

std::string event_of_error(const node::WebError& error) {
    return "data: " + json_of(error) + "\n\n";
}

}  // namespace stacking::api
