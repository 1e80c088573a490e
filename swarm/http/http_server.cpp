#include "swarm/http/http_server.hpp"

#include "swarm/http/server_core.hpp"

#include <utility>

namespace swarm::http {

HttpServer::HttpServer(
    net::EventLoop& loop, ServerOptions options, std::function<void(node::Asked)> ask
)
    : core_(std::make_shared<ServerCore>(loop.io(), std::move(options), std::move(ask))) {}

HttpServer::~HttpServer() {
    core_->end();
}

Result<std::uint16_t> HttpServer::listen() {
    return core_->listen();
}

void HttpServer::reply(const node::WebReply& reply) {
    core_->reply(reply);
}

void HttpServer::reply(const node::WebPiece& piece) {
    core_->reply(piece);
}

void HttpServer::stop() {
    core_->stop();
}

bool HttpServer::finished() const {
    return core_->finished();
}

std::size_t HttpServer::connections() const {
    return core_->connections();
}

std::string HttpServer::certificate() const {
    return core_->context() == nullptr ? std::string() : certificate_pem(*core_->context());
}

}  // namespace swarm::http
