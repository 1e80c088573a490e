// Requests that come in over HTTP (swarm/http), and the answers of the role that serves them
// (stacking/api). Both are plain data: the server of sockets parses, writes and keeps limits, the
// role decides, and the simulator runs the same role.
// Invariants: a request is named by a number that no other request of the process has. It gets one
// WebReply, and after a reply with `more` any number of WebPieces up to the `last` one; or WebGone
// ends it, after which the role says nothing more of it.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace swarm::node {

/// A whole request within its limits, from a client that may ask.
struct WebRequest {
    std::uint64_t exchange = 0;
    std::string method;  // such as "POST"
    std::string path;    // decoded, without the query; begins with '/'
    std::string query;   // not decoded, without the '?'
    std::string body;
    std::string user;  // name of the key that it came with, or the client's address
};

/// The client has hung up, or does not read what it asked for.
struct WebGone {
    std::uint64_t exchange = 0;
};

/// The answer, or its beginning.
struct WebReply {
    std::uint64_t exchange = 0;
    std::uint32_t status = 200;
    std::string content_type = "application/json";
    std::string body;
    bool more = false;  // WebPieces follow
    std::optional<std::chrono::seconds> retry_after{};
    std::string allow{};  // methods that the path has, for status 405; empty: none are told
};

/// The next bytes of an answer.
struct WebPiece {
    std::uint64_t exchange = 0;
    std::string bytes;
    bool last = false;
};

}  // namespace swarm::node
