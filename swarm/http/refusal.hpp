// An error that the server itself answers, in the shape that OpenAI's clients know:
// {"error":{"message":..,"type":..,"param":null,"code":..}}.
// Invariant: messages and codes are texts of this program without quotes and backslashes; nothing
// that a client sent comes back in them.
// Threading: any.
#pragma once

#include <chrono>
#include <optional>
#include <string>

namespace swarm::http {

struct Refusal {
    unsigned status = 400;
    std::string code;     // such as "bad_request", for programs
    std::string message;  // one line for people: what is wrong, and what to do
    std::optional<std::chrono::seconds> retry_after{};
};

/// Returns the body of the answer.
std::string json_of(const Refusal& refusal);

}  // namespace swarm::http
