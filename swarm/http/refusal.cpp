#include "swarm/http/refusal.hpp"

#include "swarm/base/check.hpp"

namespace swarm::http {
namespace {

constexpr unsigned kTooManyRequests = 429;
constexpr unsigned kFirstServerError = 500;

const char* type_of(unsigned status) {
    if (status == kTooManyRequests) {
        return "requests";
    }
    return status < kFirstServerError ? "invalid_request_error" : "server_error";
}

}  // namespace

std::string json_of(const Refusal& refusal) {
    SWARM_ASSERT(refusal.message.find_first_of("\"\\\n") == std::string::npos);
    SWARM_ASSERT(refusal.code.find_first_of("\"\\\n") == std::string::npos);
    return R"({"error":{"message":")" + refusal.message + R"(","type":")" +
           type_of(refusal.status) + R"(","param":null,"code":")" + refusal.code + "\"}}";
}

}  // namespace swarm::http
