// Third part of ApiServer: the endpoints that give no text.
#include "stacking/api/api_server.hpp"
#include "stacking/api/model_endpoints.hpp"
#include "stacking/api/openapi.hpp"

#include <array>
#include <string_view>
#include <utility>

namespace stacking::api {
namespace {

constexpr std::string_view kModels = "/v1/models";
constexpr auto kHtml = "text/html; charset=utf-8";
constexpr auto kPrometheus = "text/plain; version=0.0.4; charset=utf-8";

/// The paths that a request may have, with the one method of each.
constexpr std::array<std::pair<std::string_view, std::string_view>, 12> kPaths{{
    {"/v1/chat/completions", "POST"},
    {"/v1/completions", "POST"},
    {"/v1/embeddings", "POST"},
    {"/tokenize", "POST"},
    {"/detokenize", "POST"},
    {kModels, "GET"},
    {"/health", "GET"},
    {"/metrics", "GET"},
    {"/api/state", "GET"},
    {"/events", "GET"},
    {"/openapi.json", "GET"},
    {"/", "GET"},
}};

node::WebError not_found() {
    return {404, "not_found", "there is no such path; see /openapi.json"};
}

/// Returns the method of a path; empty: there is no such path.
std::string_view method_of(std::string_view wanted) {
    for (const auto& [path, method] : kPaths) {
        if (wanted == path) {
            return method;
        }
    }
    return wanted.starts_with(std::string(kModels) + "/") ? "GET" : "";
}

std::optional<node::WebError> check_path(const node::WebRequest& request) {
    const std::string method(method_of(request.path));
    if (method.empty()) {
        return not_found();
    }
    if (request.method == method) {
        return std::nullopt;
    }
    node::WebError error{405, "method_not_allowed", "this path is to be asked with " + method};
    error.allow = method == "GET" ? "GET, HEAD" : method;  // the server asks for HEAD with GET
    return error;
}

}  // namespace

Answer<std::string> ApiServer::answer_simple(const node::WebRequest& request) const {
    if (auto error = check_path(request)) {
        return *std::move(error);
    }
    if (request.path == kModels) {
        return json_of_models(options_.model, options_.started_unix_s);
    }
    if (request.path.starts_with(kModels)) {
        const std::string_view name = std::string_view(request.path).substr(kModels.size() + 1);
        return json_of_model(name, options_.model, options_.started_unix_s);
    }
    if (request.path == "/v1/embeddings") {
        return bad_field("", "embeddings are not supported: the model only writes text");
    }
    if (request.path == "/openapi.json") {
        return std::string(kOpenApi);
    }
    if (request.path == "/health") {
        if (SwarmState::are_served(client_.models())) {
            return std::string(R"({"status":"ok"})");
        }
        return node::WebError{
            503, "no_peers", "some layers are served by nobody", std::chrono::seconds(1)};
    }
    return not_found();
}

std::string ApiServer::state_json(TimePoint now) const {
    const SwarmState::Load load{
        options_.model.name,
        options_.join_line,
        options_.join_here_only,
        under_way_,
        jobs_.size() - under_way_};
    return state_.to_json(client_.models(), load, now);
}

std::string ApiServer::state_event(TimePoint now) const {
    return "event: state\ndata: " + state_json(now) + "\n\n";
}

/// Answers what is to be looked at: the page, the state, its events and the figures. Returns
/// whether the request was for one of them.
bool ApiServer::answer_watching(const node::WebRequest& request, node::Turn turn) {
    if (request.method != "GET") {
        return false;
    }
    node::WebReply reply;
    reply.exchange = request.exchange;
    if (request.path == "/" && !options_.page.empty()) {
        reply.content_type = kHtml;
        reply.body = options_.page;
    } else if (request.path == "/api/state") {
        reply.body = state_json(turn.now);
    } else if (request.path == "/metrics") {
        reply.content_type = kPrometheus;
        reply.body = figures_.to_text();
    } else if (request.path == "/events" && watchers_.size() >= kWatchersMax) {
        const node::WebError error{503, "full", "too many watch", std::chrono::seconds(10)};
        reply = reply_of(request.exchange, error);
    } else if (request.path == "/events") {
        reply.content_type = "text/event-stream";
        reply.body = state_event(turn.now);
        reply.more = true;
        if (watchers_.empty()) {
            ask_for_peers(turn);
        }
        watchers_.insert(request.exchange);
        watchers_due_ = std::min(watchers_due_, turn.now + kStateEvery);
    } else {
        return false;
    }
    turn.out.add(node::Tell{std::move(reply)});
    return true;
}

void ApiServer::tell_watchers(node::Turn turn) {
    if (watchers_due_ > turn.now) {
        return;
    }
    watchers_due_ = swarm::kNever;
    if (watchers_.empty()) {
        return;
    }
    watchers_due_ = turn.now + kStateEvery;
    ask_for_peers(turn);
    const std::string event = state_event(turn.now);
    for (const std::uint64_t watcher : watchers_) {
        turn.out.add(node::Tell{node::WebPiece{watcher, event, false}});
    }
}

/// Asks the directory who serves, beside the questions of the client, which come every 2 s.
void ApiServer::ask_for_peers(node::Turn turn) {
    for (const sessions::ClientContext& model : client_.models()) {
        if (model.directory.is_up()) {
            const swarm::protocol::Locate locate{model.model, model.layers_known};
            sessions::send(model.directory.peer(), locate, turn);
        }
    }
}

}  // namespace stacking::api
