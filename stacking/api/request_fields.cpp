#include "stacking/api/request_fields.hpp"

#include <boost/json/parse.hpp>

#include <cmath>
#include <limits>
#include <utility>

namespace stacking::api {
namespace {

constexpr std::size_t kDepthMax = 16;  // objects and lists in each other: a chat has 5

/// Writes 0.5 as "0.5" and 2 as "2".
std::string written(double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%g", value);
    return text;
}

}  // namespace

node::WebError bad_field(std::string param, std::string why) {
    std::string message = param.empty() ? std::move(why) : param + " " + why;
    return {400, "invalid_value", std::move(message), {}, std::move(param)};
}

Answer<json::object> parse_object(std::string_view body) {
    json::parse_options options;
    options.max_depth = kDepthMax;
    boost::system::error_code problem;
    json::value value = json::parse(body, problem, {}, options);
    if (problem) {
        return node::WebError{400, "invalid_json", "the body is not JSON: " + problem.message()};
    }
    if (!value.is_object()) {
        return node::WebError{400, "invalid_json", "the body must be a JSON object"};
    }
    return std::move(value.get_object());
}

const json::value* RequestFields::find(std::string_view name) const {
    const json::value* const value = object_.if_contains(name);
    return value == nullptr || value->is_null() ? nullptr : value;
}

void RequestFields::refuse(std::string_view name, std::string why) {
    if (!error_) {
        error_ = bad_field(std::string(name), std::move(why));
    }
}

std::string RequestFields::text(std::string_view name) {
    const json::value* const value = find(name);
    if (value == nullptr) {
        return "";
    }
    if (!value->is_string()) {
        refuse(name, "must be a string");
        return "";
    }
    return std::string(value->get_string());
}

bool RequestFields::flag(std::string_view name) {
    const json::value* const value = find(name);
    if (value != nullptr && !value->is_bool()) {
        refuse(name, "must be true or false");
        return false;
    }
    return value != nullptr && value->get_bool();
}

std::optional<double> RequestFields::number(std::string_view name, double least, double most) {
    const json::value* const value = find(name);
    if (value == nullptr) {
        return std::nullopt;
    }
    boost::system::error_code problem;
    const double number = value->is_number() ? value->to_number<double>(problem)
                                             : std::numeric_limits<double>::quiet_NaN();
    if (problem || !(number >= least && number <= most)) {
        refuse(name, "must be a number from " + written(least) + " to " + written(most));
        return std::nullopt;
    }
    return number;
}

std::optional<std::int64_t> RequestFields::integer(
    std::string_view name, std::int64_t least, std::int64_t most
) {
    const json::value* const value = find(name);
    if (value == nullptr) {
        return std::nullopt;
    }
    boost::system::error_code problem;
    const std::int64_t number = value->is_number() ? value->to_number<std::int64_t>(problem) : 0;
    if (!value->is_number() || problem || number < least || number > most) {
        refuse(
            name, "must be an integer from " + std::to_string(least) + " to " + std::to_string(most)
        );
        return std::nullopt;
    }
    return number;
}

}  // namespace stacking::api
