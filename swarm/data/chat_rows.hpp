// A line of JSONL that is a chat: {"messages": [{"role": "user", "content": "..."}, ...]}.
// Invariant: a chat that is read has a message of the assistant, so some token of it is learnt.
// Further members of a message, and of the line, are left out.
// Threading: pure function. Errors: a reason for BadLine, which names the message by its number
// from 1.
#pragma once

#include "swarm/data/encoder.hpp"

#include <boost/json/value.hpp>

#include <optional>
#include <string>
#include <vector>

namespace swarm::data {

/// Fills `messages` from the field of a line. Returns why the line is none; no value: it is one.
std::optional<std::string> read_chat(
    const boost::json::value& field, std::vector<ChatMessage>& messages
);

}  // namespace swarm::data
