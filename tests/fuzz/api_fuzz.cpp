// Fuzzes the bodies of requests for texts, from anybody. A body is refused with a status of the
// client's, or is a request that the model can serve.
// Input: a body.
#include "stacking/api/completion_request.hpp"
#include "stacking/api/model_endpoints.hpp"
#include "swarm/base/check.hpp"
#include "swarm/protocol/limits.hpp"
#include "tests/unit/stacking_api/small_model.hpp"

#include <cmath>
#include <string_view>

namespace {

using stacking::api::CompletionRequest;
using stacking::api::Endpoint;
namespace protocol = swarm::protocol;

void check(const stacking::api::node::WebError& error) {
    SWARM_ASSERT(error.status == 400 || error.status == 404);
    SWARM_ASSERT(!error.message.empty() && !error.code.empty());
}

void check(const CompletionRequest& request, const stacking::api::ApiModel& model) {
    SWARM_ASSERT(!request.prompts.empty() && request.answers > 0);
    SWARM_ASSERT(request.prompts.size() * request.answers <= stacking::api::kChoicesMax);
    SWARM_ASSERT(request.tokens_max.size() == request.prompts.size());
    for (std::size_t i = 0; i < request.prompts.size(); ++i) {
        const auto& tokens = request.prompts[i].tokens;
        SWARM_ASSERT(!tokens.empty() && request.tokens_max[i] > 0);
        SWARM_ASSERT(tokens.size() + request.tokens_max[i] <= model.context);
        for (const stacking::TokenId token : tokens) {
            SWARM_ASSERT(token < model.vocabulary);
        }
    }
    const protocol::Sampling& draw = request.sampling;
    for (const double value :
         {draw.temperature,
          draw.top_p,
          draw.min_p,
          draw.presence_penalty,
          draw.frequency_penalty,
          draw.repetition_penalty}) {
        SWARM_ASSERT(std::isfinite(value));
    }
    SWARM_ASSERT(draw.top_k <= protocol::kTopTokensMax && draw.top <= protocol::kTopTokensMax);
    SWARM_ASSERT(draw.biases.size() <= protocol::kTokenBiasesMax);
    for (const protocol::TokenBias& bias : draw.biases) {
        SWARM_ASSERT(std::isfinite(bias.bias) && bias.token < model.vocabulary);
    }
    SWARM_ASSERT(request.stops.size() <= stacking::api::kStopsMax);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
    static const stacking::api::ApiModel model = stacking::api::test::small_model();
    const std::string_view body(reinterpret_cast<const char*>(data), size);
    for (const Endpoint endpoint : {Endpoint::Chat, Endpoint::Text}) {
        const auto request = stacking::api::read_completion_request(endpoint, body, model, {});
        if (request) {
            check(*request, model);
        } else {
            check(request.error());
        }
    }
    for (const auto& answer :
         {stacking::api::tokenize(body, model, 0), stacking::api::detokenize(body, model)}) {
        if (!answer) {
            check(answer.error());
        }
    }
    return 0;
}
