#include "swarm/cli/web/run_web.hpp"

#include "swarm/base/try.hpp"
#include "swarm/cli/common/clock.hpp"
#include "swarm/cli/common/own_address.hpp"
#include "swarm/cli/web/run_page.hpp"

#include <boost/asio/io_context.hpp>

#include <utility>
#include <variant>

namespace swarm::cli {
namespace {

constexpr auto kHtml = "text/html; charset=utf-8";
constexpr auto kPrometheus = "text/plain; version=0.0.4; charset=utf-8";
constexpr auto kEvents = "text/event-stream";

std::string error_text(const char* message, const char* code) {
    return std::string(R"({"error":{"message":")") + message +
           R"(","type":"invalid_request_error","param":null,"code":")" + code + "\"}}";
}

}  // namespace

Result<std::string> RunWeb::listen(const std::string& address) {
    const bool is_port = address.find_first_not_of("0123456789") == std::string::npos;
    SWARM_TRY(
        const net::Address listen, parse_listen_address(is_port ? "127.0.0.1:" + address : address)
    );
    http::ServerOptions options;
    options.listen_address = listen.host;
    options.listen_port = listen.port;
    server_ = std::make_unique<http::HttpServer>(
        loop_, std::move(options), [this](const node::Asked& asked) { ask(asked); }
    );
    SWARM_TRY(const std::uint16_t port, server_->listen());
    return "http://" + net::to_text({listen.host == "*" ? "localhost" : listen.host, port}) + "/";
}

void RunWeb::ask(const node::Asked& asked) {
    if (const auto* const gone = std::get_if<node::WebGone>(&asked.request)) {
        watchers_.erase(gone->exchange);
    } else if (const auto* const request = std::get_if<node::WebRequest>(&asked.request)) {
        // The server must not be answered while it asks.
        loop_.post([web = std::weak_ptr(self_), request = *request] {
            if (const auto self = web.lock()) {
                (*self)->answer(request);
            }
        });
    }
}

std::string RunWeb::event() const {
    return "event: state\ndata: " + state_.to_json(clock_now()) + "\n\n";
}

void RunWeb::answer(const node::WebRequest& request) {
    node::WebReply reply;
    reply.exchange = request.exchange;
    if (request.method != "GET") {
        reply.status = 405;
        reply.body = error_text("this page is to be read with GET", "method_not_allowed");
    } else if (request.path == "/") {
        reply.content_type = kHtml;
        reply.body = kRunPage;
    } else if (request.path == "/api/state") {
        reply.body = state_.to_json(clock_now());
    } else if (request.path == "/metrics") {
        reply.content_type = kPrometheus;
        reply.body = state_.to_prometheus();
    } else if (request.path == "/health") {
        reply.body = R"({"status":"ok"})";
    } else if (request.path == "/events" && watchers_.size() < kWatchersMax) {
        reply.content_type = kEvents;
        reply.body = event();
        reply.more = true;
        watchers_.insert(request.exchange);
    } else if (request.path == "/events") {
        reply.status = 503;
        reply.body = error_text("too many watch this run", "full");
        reply.retry_after = std::chrono::seconds(10);
    } else {
        reply.status = 404;
        reply.body = error_text("there is no such page", "not_found");
    }
    server_->reply(reply);
}

void RunWeb::changed(TimePoint now) {
    if (now >= sent_at_ + kEvery || state_.is_over()) {
        return send(now);
    }
    if (std::exchange(waits_, true)) {
        return;
    }
    timer_.expires_after(sent_at_ + kEvery - now);
    timer_.async_wait([web = std::weak_ptr(self_)](const boost::system::error_code& cancelled) {
        if (const auto self = web.lock(); self && !cancelled) {
            (*self)->waits_ = false;
            (*self)->send(clock_now());
        }
    });
}

void RunWeb::send(TimePoint now) {
    if (watchers_.empty()) {
        return;
    }
    sent_at_ = now;
    const std::string bytes = event();
    for (const std::uint64_t watcher : watchers_) {
        server_->reply(node::WebPiece{watcher, bytes, false});
    }
}

}  // namespace swarm::cli
