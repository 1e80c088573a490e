// The prompts of a request, in tokens: texts, token ids, or the messages of a chat.
// Invariant: ids are tokens of the model. A text that is longer than the context can be is refused
// before its tokens are made, because that would take long.
// Threading: const and any thread. Errors: node::WebError, status 400; the client gets it.
// Cost: that of tokenizing.
#pragma once

#include "stacking/api/api_model.hpp"
#include "stacking/api/request_fields.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace stacking::api {

/// Answers of one request, over all its prompts.
inline constexpr std::size_t kChoicesMax = 32;

struct Prompt {
    std::vector<TokenId> tokens;
    std::string text;  // for `echo`
    std::vector<swarm::node::StackMember> members{};  // those that it needs; empty: all
};

/// Reads the field `prompt`.
Answer<std::vector<Prompt>> read_prompts(const RequestFields& fields, const ApiModel& model);

/// Reads the field `messages` and returns the tokens of the chat, with the beginning of an answer.
/// `now_unix_s`: the time, which a chat template may tell the model as a date.
Answer<std::vector<TokenId>> read_messages(
    const json::object& body, const ApiModel& model, std::int64_t now_unix_s
);

/// Returns the tokens of a text, in which names of special tokens stand for these tokens.
Answer<std::vector<TokenId>> read_text(
    std::string_view field, std::string_view text, const ApiModel& model
);

/// Returns the token ids of a list.
Answer<std::vector<TokenId>> read_ids(
    std::string_view field, const json::array& ids, const ApiModel& model
);

/// Says that a prompt fills the context. `size`: "8192 tokens".
node::WebError too_long(const std::string& param, const std::string& size, const ApiModel& model);

}  // namespace stacking::api
