// Answers in the shapes of OpenAI's API: whole, or piece by piece as server-sent events.
// Invariant: all pieces of an answer have its id and the time at which it began; a stream ends with
// "data: [DONE]", or with an error event.
// Threading: pure functions.
#pragma once

#include "stacking/api/choice.hpp"
#include "stacking/api/completion_request.hpp"
#include "swarm/node/web_error.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace stacking::api {

/// Fields that all pieces of an answer have in common.
struct AnswerHead {
    Endpoint endpoint = Endpoint::Chat;
    std::string id;     // "chatcmpl-" or "cmpl-" and 16 hex digits
    std::string model;  // its name
    std::int64_t created_unix_s = 0;
};

struct Usage {
    std::uint64_t prompt_tokens = 0;
    std::uint64_t completion_tokens = 0;
    std::uint64_t reused_tokens = 0;  // those of prompts that peers had read before
};

/// All that a choice came to.
struct WholeChoice {
    std::size_t index = 0;
    Choice::Piece all;
    std::optional<Choice::End> end;
};

std::string json_of_answer(
    const AnswerHead& head, const std::vector<WholeChoice>& choices, const Usage& usage
);

/// The first event of a choice of a chat, which names who speaks.
std::string event_of_role(const AnswerHead& head, std::size_t index, bool tells_usage);

std::string event_of_piece(
    const AnswerHead& head, std::size_t index, const Choice::Piece& piece, bool tells_usage
);

std::string event_of_end(
    const AnswerHead& head, std::size_t index, Choice::End end, bool tells_usage
);

std::string event_of_usage(const AnswerHead& head, const Usage& usage);
std::string event_of_error(const node::WebError& error);

/// "data: [DONE]" and an empty line
extern const std::string kLastEvent;

}  // namespace stacking::api
