#include "stacking/api/completion_request.hpp"

#include "stacking/tokenizers/utf8.hpp"
#include "swarm/base/try.hpp"
#include "swarm/protocol/limits.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <utility>

namespace stacking::api {
namespace {

constexpr double kTemperatureMax = 2;
constexpr double kPenaltyMax = 2;
constexpr double kRepetitionPenaltyMax = 10;
constexpr double kBiasMax = 100;
constexpr std::size_t kQuotedBytesMax = 100;
constexpr double kLeast = 1e-9;  // stands for "above 0"

struct Refused {
    const char* name;
    const char* why;
};

/// Fields that would change the answer, and that nobody here can heed.
constexpr Refused kRefused[] = {
    {"tools", "are not supported: the model calls no functions"},
    {"functions", "are not supported: the model calls no functions"},
    {"suffix", "is not supported: the model only continues texts"},
    {"audio", "is not supported: the model only writes text"},
    {"prediction", "is not supported"},
    {"web_search_options", "are not supported"},
    {"guided_json", "is not supported"},
    {"guided_regex", "is not supported"},
    {"guided_choice", "is not supported"},
    {"guided_grammar", "is not supported"},
    {"grammar", "is not supported"},
    {"json_schema", "is not supported"},
};

bool is_empty(const json::value& value) {
    return (value.is_array() && value.get_array().empty()) ||
           (value.is_object() && value.get_object().empty()) ||
           (value.is_string() && value.get_string().empty());
}

void refuse_what_is_not_supported(RequestFields& fields) {
    for (const Refused& refused : kRefused) {
        const json::value* const value = fields.find(refused.name);
        if (value != nullptr && !is_empty(*value)) {
            fields.refuse(refused.name, refused.why);
        }
    }
    const json::value* const format = fields.find("response_format");
    if (format == nullptr) {
        return;
    }
    const json::value* const type =
        format->is_object() ? format->get_object().if_contains("type") : nullptr;
    if (type == nullptr || !type->is_string() || type->get_string() != "text") {
        fields.refuse("response_format", "is not supported but for {\"type\": \"text\"}");
    }
}

/// Returns as much of a client's text as an error quotes, in whole characters.
std::string beginning_of(const std::string& text) {
    const std::string beginning = text.substr(0, kQuotedBytesMax);
    return beginning.substr(0, tokenizers::utf8_prefix(beginning));
}

void read_stops(RequestFields& fields, CompletionRequest& request) {
    const json::value* const stop = fields.find("stop");
    if (stop == nullptr) {
        return;
    }
    const json::array one{*stop};
    const json::array& stops = stop->is_array() ? stop->get_array() : one;
    if (stops.size() > kStopsMax) {
        return fields.refuse("stop", "has at most " + std::to_string(kStopsMax) + " texts");
    }
    for (const json::value& text : stops) {
        if (!text.is_string() || text.get_string().empty() ||
            text.get_string().size() > kStopBytesMax) {
            return fields.refuse(
                "stop",
                "must be a text of 1 to " + std::to_string(kStopBytesMax) +
                    " bytes, or a list of such texts"
            );
        }
        request.stops.emplace_back(text.get_string());
    }
}

void read_biases(RequestFields& fields, const ApiModel& model, CompletionRequest& request) {
    const json::value* const biases = fields.find("logit_bias");
    if (biases == nullptr) {
        return;
    }
    const std::string wanted =
        "must be an object of token ids, each with a number from -100 to 100";
    if (!biases->is_object() || biases->get_object().size() > swarm::protocol::kTokenBiasesMax) {
        return fields.refuse("logit_bias", wanted);
    }
    for (const auto& [id, bias] : biases->get_object()) {
        swarm::protocol::TokenBias read;
        const auto end = id.data() + id.size();
        const auto [stop, problem] = std::from_chars(id.data(), end, read.token);
        boost::system::error_code no_number;
        read.bias = bias.is_number() ? bias.to_number<double>(no_number)
                                     : std::numeric_limits<double>::quiet_NaN();
        if (problem != std::errc() || stop != end || no_number ||
            !(std::abs(read.bias) <= kBiasMax)) {
            return fields.refuse("logit_bias", wanted);
        }
        if (read.token >= model.vocabulary) {
            return fields.refuse("logit_bias", "names a token that the model does not have");
        }
        request.sampling.biases.push_back(read);
    }
}

/// Reads the number of likeliest tokens that are told; the two endpoints ask in different ways.
void read_logprobs(RequestFields& fields, CompletionRequest& request) {
    if (request.endpoint == Endpoint::Text) {
        if (const auto top = fields.integer("logprobs", 0, kTopLogprobsMax)) {
            request.top_logprobs = static_cast<std::uint32_t>(*top);
        }
        return;
    }
    const bool wanted = fields.flag("logprobs");
    const auto top = fields.integer("top_logprobs", 0, kTopLogprobsMax);
    if (top && !wanted) {
        return fields.refuse("top_logprobs", "wants logprobs to be true");
    }
    if (wanted) {
        request.top_logprobs = static_cast<std::uint32_t>(top.value_or(0));
    }
}

void read_draw(RequestFields& fields, const ApiModel& model, CompletionRequest& request) {
    swarm::protocol::Sampling& draw = request.sampling;
    draw.temperature = fields.number("temperature", 0, kTemperatureMax).value_or(1);
    const double top_p = fields.number("top_p", kLeast, 1).value_or(1);
    draw.top_p = top_p < 1 ? top_p : 0;
    // 0 and -1 mean no bound, as in vLLM.
    const auto top_k = fields.integer("top_k", -1, swarm::protocol::kTopTokensMax).value_or(0);
    draw.top_k = static_cast<std::uint32_t>(std::max<std::int64_t>(top_k, 0));
    draw.min_p = fields.number("min_p", 0, 1).value_or(0);
    draw.presence_penalty =
        fields.number("presence_penalty", -kPenaltyMax, kPenaltyMax).value_or(0);
    draw.frequency_penalty =
        fields.number("frequency_penalty", -kPenaltyMax, kPenaltyMax).value_or(0);
    const auto repetition = fields.number("repetition_penalty", kLeast, kRepetitionPenaltyMax);
    draw.repetition_penalty = repetition.value_or(0);
    constexpr auto kAnyInteger = std::numeric_limits<std::int64_t>::max();
    if (const auto seed = fields.integer("seed", -kAnyInteger, kAnyInteger)) {
        request.seed = static_cast<std::uint64_t>(*seed);
    }
    read_biases(fields, model, request);
    read_logprobs(fields, request);
    // A drawn token is among the likeliest kTopTokensMax, whose probabilities come back with it.
    const std::uint32_t told = std::max<std::uint32_t>(request.top_logprobs.value_or(0), 1);
    const bool all = request.top_logprobs && draw.temperature > 0;
    draw.top = all ? swarm::protocol::kTopTokensMax : told;
}

void read_telling(RequestFields& fields, CompletionRequest& request) {
    request.ignores_end = fields.flag("ignore_eos");
    request.tells_ids = fields.flag("return_token_ids");
    request.streams = fields.flag("stream");
    request.echo = request.endpoint == Endpoint::Text && fields.flag("echo");
    if (request.echo && request.top_logprobs) {
        fields.refuse("echo", "with logprobs is not supported");
    }
    const json::value* const options = fields.find("stream_options");
    if (options == nullptr) {
        return;
    }
    if (!options->is_object() || !request.streams) {
        return fields.refuse("stream_options", "must be an object, and wants stream to be true");
    }
    RequestFields inner(options->get_object());
    request.tells_usage = inner.flag("include_usage");
    if (inner.error()) {
        fields.refuse("stream_options", "has an include_usage that is no true or false");
    }
}

/// Reads how many tokens each answer may have.
std::optional<node::WebError> read_lengths(
    RequestFields& fields,
    const ApiModel& model,
    std::uint32_t otherwise,
    CompletionRequest& request
) {
    constexpr std::int64_t kMost = swarm::protocol::kPositionsMax;
    const auto newer = fields.integer("max_completion_tokens", 1, kMost);
    const auto older = fields.integer("max_tokens", 1, kMost);
    const auto wanted = newer ? newer : older;
    const std::string param = request.endpoint == Endpoint::Chat ? "messages" : "prompt";
    for (const Prompt& prompt : request.prompts) {
        if (prompt.tokens.empty()) {
            return bad_field(param, "has no token");
        }
        if (prompt.tokens.size() >= model.context) {
            return too_long(param, std::to_string(prompt.tokens.size()) + " tokens", model);
        }
        const auto room = model.context - static_cast<std::uint32_t>(prompt.tokens.size());
        const auto tokens = static_cast<std::uint32_t>(wanted.value_or(otherwise));
        request.tokens_max.push_back(std::min(room, tokens));
    }
    return std::nullopt;
}

void read_answers(RequestFields& fields, CompletionRequest& request) {
    constexpr auto kMost = static_cast<std::int64_t>(kChoicesMax);
    request.answers = static_cast<std::uint32_t>(fields.integer("n", 1, kMost).value_or(1));
    const auto best_of = fields.integer("best_of", 1, kMost);
    if (best_of && *best_of != request.answers) {
        fields.refuse("best_of", "is not supported but as large as n");
    }
    if (request.answers * request.prompts.size() > kChoicesMax) {
        fields.refuse("n", "times the prompts is at most " + std::to_string(kChoicesMax));
    }
}

}  // namespace

std::optional<node::WebError> check_model(const json::object& body, const ApiModel& model) {
    RequestFields fields(body);
    const std::string name = fields.text("model");
    if (fields.error()) {
        return fields.error();
    }
    if (!name.empty() && name != model.name) {
        return node::WebError{
            404,
            "model_not_found",
            "the model " + beginning_of(name) + " is not served here; " + model.name + " is",
            {},
            "model"};
    }
    return std::nullopt;
}

Answer<CompletionRequest> read_completion_request(
    Endpoint endpoint, std::string_view body, const ApiModel& model, const RequestDefaults& defaults
) {
    SWARM_TRY(const json::object object, parse_object(body));
    if (auto error = check_model(object, model)) {
        return *std::move(error);
    }
    RequestFields fields(object);
    CompletionRequest request;
    request.endpoint = endpoint;
    refuse_what_is_not_supported(fields);
    read_stops(fields, request);
    read_draw(fields, model, request);
    read_telling(fields, request);
    if (fields.error()) {
        return *fields.error();
    }
    if (endpoint == Endpoint::Chat) {
        SWARM_TRY(auto tokens, read_messages(object, model, defaults.now_unix_s));
        request.prompts.push_back({std::move(tokens), ""});
    } else {
        SWARM_TRY(request.prompts, read_prompts(fields, model));
    }
    read_answers(fields, request);
    const std::uint32_t otherwise =
        endpoint == Endpoint::Chat ? defaults.chat_tokens : defaults.text_tokens;
    for (Prompt& prompt : request.prompts) {
        prompt.text = request.echo ? std::move(prompt.text) : std::string();
        if (model.members_of) {
            prompt.members = model.members_of(prompt.tokens, model.tokenizer);
        }
    }
    if (auto error = read_lengths(fields, model, otherwise, request)) {
        return *std::move(error);
    }
    if (fields.error()) {
        return *fields.error();
    }
    return request;
}

}  // namespace stacking::api
