// The text of an answer: its head, and its pieces in the chunked coding (RFC 9112, 7.1).
// Threading: any. Units: time is that of the wall clock, because the field Date has it.
#pragma once

#include "swarm/http/refusal.hpp"

#include <chrono>
#include <cstddef>
#include <ctime>
#include <optional>
#include <string>
#include <string_view>

namespace swarm::http {

/// How a client knows where an answer ends.
enum class Framing {
    Length,  // Content-Length
    Chunks,  // a chunk without bytes
    Close,   // the end of the connection, for HTTP/1.0
    None,    // the status has no body
};

struct AnswerHead {
    unsigned status = 200;
    std::string_view content_type;
    Framing framing = Framing::Length;
    std::size_t length = 0;  // for Framing::Length
    bool keeps_alive = true;
    bool is_http_1_0 = false;  // the client's version
    std::optional<std::chrono::seconds> retry_after;
    std::string_view fields;  // more of them, with a line end behind each
};

std::string text_of(const AnswerHead& head, std::time_t now);

/// Returns "Sun, 06 Nov 1994 08:49:37 GMT" and the like (RFC 9110, 5.6.7).
std::string date_of(std::time_t time);

/// Requires bytes: a chunk without any ends the answer.
std::string chunk_of(std::string_view bytes);

/// Returns the whole answer for a client that is sent away without a request.
std::string text_of(const Refusal& refusal, std::time_t now);

inline constexpr std::string_view kLastChunk = "0\r\n\r\n";
inline constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";

}  // namespace swarm::http
