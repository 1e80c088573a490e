// A row that is a chat, as a line of JSONL: {"messages": [{"role": "user", "content": ".."}, ..]}.
// The judgements stand alone for rows of Parquet, which have columns in place of a line.
// Invariant: a chat that is read has a message of the assistant, so some token of it is learnt.
// Further members of a message, and of the line, are left out.
// Threading: pure function. Errors: a reason for BadLine, which names the message by its number
// from 1.
#pragma once

#include "swarm/data/encoder.hpp"

#include <boost/json/value.hpp>

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace swarm::data {

/// Fills `messages` from the field of a line. Returns why the line is none; no value: it is one.
std::optional<std::string> read_chat(
    const boost::json::value& field, std::vector<ChatMessage>& messages
);

inline constexpr const char* kNoList = "is no list of messages";
inline constexpr const char* kNoObject = "is no object";  // a message
inline constexpr const char* kNoContent = "has no text in \"content\"";

/// Fills `to`. Returns why this is no role; a role without a value is missing.
std::optional<std::string> read_role(std::optional<std::string_view> role, ChatRole& to);

/// Returns why a list of so many messages is no chat.
std::optional<std::string> judge_count(std::size_t messages);

/// Returns why nothing of the messages can be learnt.
std::optional<std::string> judge_answers(std::span<const ChatMessage> messages);

}  // namespace swarm::data
