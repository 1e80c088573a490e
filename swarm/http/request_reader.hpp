// Takes requests out of a stream of bytes, one after the other. It has no socket, so the fuzz
// target feeds it directly. Boost.Beast parses; this class is stricter where leniency lets two
// programs in a row disagree about where a request ends (RFC 9112, 11.2).
// Invariants: what it makes of a stream does not depend on how the stream was cut. A request that
// is whole keeps every limit. Nothing is kept of bytes that it says are used, but the request.
// Threading: single strand. Errors: a Refusal, after which it reads no more.
// Cost: linear in the bytes; a body's memory grows as its bytes come.
#pragma once

#include "swarm/http/limits.hpp"
#include "swarm/http/refusal.hpp"

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace swarm::http {

/// The parts of a head that matter here. Fields that were not sent are empty.
struct RequestHead {
    std::string method;
    std::string path;   // decoded, as in node::WebRequest
    std::string query;  // not decoded
    std::string host;
    std::string origin;
    std::string authorization;
    std::string requested_method;   // in a preflight: Access-Control-Request-Method
    std::string requested_headers;  // in a preflight: Access-Control-Request-Headers
    bool is_http_1_0 = false;
    bool keeps_alive = true;
    bool expects_continue = false;
};

class RequestReader {
 public:
    enum class Stage { Head, Body, Whole, Refused };

    explicit RequestReader(const Limits& limits);
    RequestReader(const RequestReader&) = delete;
    RequestReader& operator=(const RequestReader&) = delete;
    ~RequestReader();

    /// Reads on, and returns how many of the bytes are used. The caller offers the others again,
    /// with more behind them. Stops behind a head and behind a whole request, so that the caller
    /// may judge the head first.
    std::size_t read(std::string_view bytes);

    [[nodiscard]] Stage stage() const { return stage_; }

    /// Requires a head that is whole.
    [[nodiscard]] const RequestHead& head() const;

    [[nodiscard]] std::size_t body_bytes() const { return body_.size(); }

    /// Requires the stage Whole.
    std::string take_body() { return std::move(body_); }

    /// Frees the body of a request that is refused. Nothing is read before next().
    void drop_body() { std::string().swap(body_); }

    /// Requires the stage Refused.
    [[nodiscard]] const Refusal& refusal() const { return refusal_; }

    /// Begins with the next request. Requires the stage Whole.
    void next();

 private:
    class Parser;

    std::size_t read_head(std::string_view bytes);
    std::size_t parse_head(std::string_view bytes);
    std::size_t read_body(std::string_view bytes);
    void refuse(Refusal refusal);

    const Limits* limits_;
    Stage stage_ = Stage::Head;
    std::unique_ptr<Parser> parser_;  // from a whole head to the end of its request
    std::string body_;
    Refusal refusal_;
    std::size_t scanned_ = 0;      // bytes of the head that were looked at
    std::size_t blank_lines_ = 0;  // before the head
};

}  // namespace swarm::http
