// A request for texts, out of the body of POST /v1/chat/completions or /v1/completions: the prompts
// in tokens, how many answers each gets, how they are drawn, and how they are told.
// Invariant: a request that was read can be served as far as the model goes: each prompt has a
// token and leaves room for one, all numbers are within their bounds.
// A field that would change the answer and is not supported is refused by its name; fields that
// are not known are ignored, as clients send fields of their own.
// Threading: const and any thread. Errors: node::WebError, status 400 or 404; the client gets it.
// Cost: that of tokenizing the prompts.
// Source: the reference of OpenAI's API, 2025; extensions as in vLLM: top_k, min_p,
// repetition_penalty, ignore_eos, return_token_ids.
#pragma once

#include "stacking/api/api_model.hpp"
#include "stacking/api/prompt_reading.hpp"
#include "stacking/api/request_fields.hpp"
#include "swarm/protocol/session_messages.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace stacking::api {

/// Stop texts of one request, and bytes of each.
inline constexpr std::size_t kStopsMax = 16;
inline constexpr std::size_t kStopBytesMax = 1024;

/// Likeliest tokens that are told with each token.
inline constexpr std::int64_t kTopLogprobsMax = 20;

enum class Endpoint { Chat, Text };

struct CompletionRequest {
    Endpoint endpoint = Endpoint::Chat;
    std::vector<Prompt> prompts;
    std::uint32_t answers = 1;              // answers to each prompt
    std::vector<std::uint32_t> tokens_max;  // tokens of an answer, by prompt
    swarm::protocol::Sampling sampling{};   // without seed and generated_from
    std::optional<std::uint64_t> seed{};
    std::vector<std::string> stops{};
    std::optional<std::uint32_t> top_logprobs{};  // set: the probabilities of tokens are told
    bool echo = false;                            // the answer begins with the prompt
    bool ignores_end = false;                     // goes on after the end of the answer
    bool tells_ids = false;                       // token ids beside the text
    bool streams = false;
    bool tells_usage = false;  // in a stream
};

struct RequestDefaults {
    std::uint32_t chat_tokens = 1024;  // tokens of an answer in a chat that names no bound
    std::uint32_t text_tokens = 16;    // same for a text, as OpenAI has it
    std::int64_t now_unix_s = 0;       // when it is asked
};

/// Reads a body.
Answer<CompletionRequest> read_completion_request(
    Endpoint endpoint, std::string_view body, const ApiModel& model, const RequestDefaults& defaults
);

/// Checks that the client means this model.
std::optional<node::WebError> check_model(const json::object& body, const ApiModel& model);

}  // namespace stacking::api
