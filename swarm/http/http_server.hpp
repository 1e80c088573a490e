// Serves HTTP/1.1 on sockets: it parses requests, keeps limits and writes answers, and a role
// decides what they are (swarm/node/web.hpp). ask() hands requests over, reply() takes answers.
// Invariants: an exchange that was asked about ends with its last answer or with one WebGone, which
// says that the client has hung up, does not read, or had to make room. A client has one request
// under way per connection; its next ones wait in order. What is stored for clients is bounded by
// Limits, for each of them and in sum.
// Threading: the loop's thread; ask() is called from events of the loop, and never by reply().
// Errors: listen() returns Usage (Fatal) with the reason. What a client does wrong it gets as JSON:
// {"error":{"message","type","param","code"}}.
#pragma once

#include "swarm/base/result.hpp"
#include "swarm/http/api_keys.hpp"
#include "swarm/http/limits.hpp"
#include "swarm/http/tls_files.hpp"
#include "swarm/net/event_loop.hpp"
#include "swarm/node/event.hpp"
#include "swarm/node/web.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace swarm::http {

class ServerCore;

struct ServerOptions {
    std::string listen_address = "127.0.0.1";  // an IP address; *: all of this machine
    std::uint16_t listen_port = 8080;          // 0 takes a free port
    std::optional<TlsFiles> tls;               // none: http://, and everybody on the way reads it
    std::vector<ApiKey> keys;                  // empty: anybody who can connect may ask
    /// Paths that need no key, such as "/health". Their user is the client's address.
    std::vector<std::string> open_paths;
    std::string allowed_origin;  // its pages may ask (CORS), those of "*" all; empty: only ours
    Limits limits;
};

class HttpServer {
 public:
    HttpServer(net::EventLoop& loop, ServerOptions options, std::function<void(node::Asked)> ask);
    HttpServer(const HttpServer&) = delete;
    HttpServer& operator=(const HttpServer&) = delete;
    /// Ends all connections at once; ask() is not called any more.
    ~HttpServer();

    /// Returns the port.
    Result<std::uint16_t> listen();

    /// An exchange that is not known is ignored: its client has gone.
    void reply(const node::WebReply& reply);
    void reply(const node::WebPiece& piece);

    /// Takes no more requests. Answers under way may end within Limits::stop_patience.
    void stop();
    /// Tells whether stop() has been called and all connections have ended.
    [[nodiscard]] bool finished() const;

    [[nodiscard]] std::size_t connections() const;
    /// Returns the certificate as PEM, after listen() with TLS; else nothing.
    [[nodiscard]] std::string certificate() const;

 private:
    std::shared_ptr<ServerCore> core_;
};

}  // namespace swarm::http
