#include "stacking/api/model_endpoints.hpp"

#include "stacking/api/completion_request.hpp"
#include "stacking/tokenizers/utf8.hpp"
#include "swarm/base/try.hpp"

#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>

#include <utility>

namespace stacking::api {
namespace {

json::object describe(const ApiModel& model, std::int64_t created_unix_s) {
    return {
        {"id", model.name},
        {"object", "model"},
        {"created", created_unix_s},
        {"owned_by", "swarm"},
        {"max_model_len", model.context}};
}

}  // namespace

std::string json_of_models(const ApiModel& model, std::int64_t created_unix_s) {
    json::array models;
    models.push_back(describe(model, created_unix_s));
    return json::serialize(json::object{{"object", "list"}, {"data", std::move(models)}});
}

Answer<std::string> json_of_model(
    std::string_view name, const ApiModel& model, std::int64_t created_unix_s
) {
    if (auto error = check_model({{"model", name}}, model); error || name.empty()) {
        return error.value_or(bad_field("model", "has no name"));
    }
    return json::serialize(describe(model, created_unix_s));
}

Answer<std::string> tokenize(
    std::string_view body, const ApiModel& model, std::int64_t now_unix_s
) {
    SWARM_TRY(const json::object object, parse_object(body));
    if (auto error = check_model(object, model)) {
        return *std::move(error);
    }
    RequestFields fields(object);
    std::vector<TokenId> tokens;
    if (fields.find("messages") != nullptr) {
        SWARM_TRY(tokens, read_messages(object, model, now_unix_s));
    } else {
        const char* const name = fields.find("prompt") != nullptr ? "prompt" : "content";
        if (fields.find(name) == nullptr) {
            return bad_field("prompt", "is missing");
        }
        const std::string text = fields.text(name);
        if (fields.error()) {
            return *fields.error();
        }
        SWARM_TRY(tokens, read_text(name, text, model));
    }
    return json::serialize(json::object{
        {"count", tokens.size()},
        {"max_model_len", model.context},
        {"tokens", json::array(tokens.begin(), tokens.end())}});
}

Answer<std::string> detokenize(std::string_view body, const ApiModel& model) {
    SWARM_TRY(const json::object object, parse_object(body));
    if (auto error = check_model(object, model)) {
        return *std::move(error);
    }
    const json::value* const field = RequestFields(object).find("tokens");
    if (field == nullptr || !field->is_array()) {
        return bad_field("tokens", "must be a list of token ids");
    }
    SWARM_TRY(const auto tokens, read_ids("tokens", field->get_array(), model));
    const auto bytes = model.tokenizer.decode_whole(tokens);
    if (!bytes) {
        return bad_field("tokens", "has a number that is no token of the tokenizer");
    }
    return json::serialize(json::object{{"prompt", tokenizers::to_utf8(*bytes)}});
}

}  // namespace stacking::api
