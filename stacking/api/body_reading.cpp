#include "stacking/api/body_reading.hpp"

#include "stacking/api/model_endpoints.hpp"

#include <new>

namespace stacking::api {
namespace {

constexpr const char* kChats = "/v1/chat/completions";
constexpr const char* kTexts = "/v1/completions";
constexpr const char* kTokenize = "/tokenize";
constexpr const char* kDetokenize = "/detokenize";

template <class Value>
BodyReading::Outcome outcome_of(Answer<Value> answer) {
    return answer ? BodyReading::Outcome(*std::move(answer))
                  : BodyReading::Outcome(std::move(answer.error()));
}

}  // namespace

bool BodyReading::is_for(const node::WebRequest& request) {
    const std::string& path = request.path;
    return request.method == "POST" &&
           (path == kChats || path == kTexts || path == kTokenize || path == kDetokenize);
}

void BodyReading::run() {
    try {
        if (request_.path == kTokenize) {
            outcome_ = outcome_of(tokenize(request_.body, model_, defaults_.now_unix_s));
        } else if (request_.path == kDetokenize) {
            outcome_ = outcome_of(detokenize(request_.body, model_));
        } else {
            const Endpoint endpoint = request_.path == kChats ? Endpoint::Chat : Endpoint::Text;
            outcome_ =
                outcome_of(read_completion_request(endpoint, request_.body, model_, defaults_));
        }
    } catch (const std::bad_alloc&) {
        outcome_ = node::WebError{
            503, "full", "there is no memory for this body", std::chrono::seconds(10)};
    }
    request_.body = {};
}

}  // namespace stacking::api
