// An error of a web server or of the role behind it, in the shape that OpenAI's clients know:
// {"error":{"message":..,"type":..,"param":..,"code":..}}.
// Threading: any. Cost: linear in the texts.
#pragma once

#include "swarm/node/web.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace swarm::node {

struct WebError {
    std::uint32_t status = 400;
    std::string code;     // such as "bad_request", for programs
    std::string message;  // one line for people: what is wrong, and what to do
    std::optional<std::chrono::seconds> retry_after{};
    std::string param{};  // the field of the request that is wrong; empty: none
    std::string allow{};  // methods that the path has, for status 405
};

/// Returns the body of the answer.
std::string json_of(const WebError& error);

/// Returns the whole answer.
WebReply reply_of(std::uint64_t exchange, const WebError& error);

}  // namespace swarm::node
