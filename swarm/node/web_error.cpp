#include "swarm/node/web_error.hpp"

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

namespace swarm::node {
namespace {

namespace json = boost::json;

constexpr std::uint32_t kTooManyRequests = 429;
constexpr std::uint32_t kFirstServerError = 500;

const char* type_of(std::uint32_t status) {
    if (status == kTooManyRequests) {
        return "requests";
    }
    return status < kFirstServerError ? "invalid_request_error" : "server_error";
}

}  // namespace

std::string json_of(const WebError& error) {
    const json::object fields{
        {"message", error.message},
        {"type", type_of(error.status)},
        {"param", error.param.empty() ? json::value(nullptr) : json::value(error.param)},
        {"code", error.code}};
    return json::serialize(json::object{{"error", fields}});
}

WebReply reply_of(std::uint64_t exchange, const WebError& error) {
    WebReply reply;
    reply.exchange = exchange;
    reply.status = error.status;
    reply.body = json_of(error);
    reply.retry_after = error.retry_after;
    reply.allow = error.allow;
    return reply;
}

}  // namespace swarm::node
