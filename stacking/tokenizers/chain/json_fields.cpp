#include "stacking/tokenizers/chain/json_fields.hpp"

#include "stacking/models/byte_source.hpp"

namespace stacking::tokenizers {

namespace json = boost::json;
using swarm::Error;
using swarm::ErrorCode;
using swarm::Reaction;

Error unsupported_part(const std::string& what) {
    return {ErrorCode::Unsupported, Reaction::Reject, "tokenizer.json: " + what};
}

Error malformed_part(const std::string& what) {
    return {ErrorCode::Malformed, Reaction::Reject, "tokenizer.json: " + what};
}

const json::value* find_field(const json::object& object, std::string_view key) {
    const json::value* const value = object.if_contains({key.data(), key.size()});
    return value == nullptr || value->is_null() ? nullptr : value;
}

const json::object* find_object(const json::object& object, std::string_view key) {
    const json::value* const value = find_field(object, key);
    return value == nullptr ? nullptr : value->if_object();
}

const json::array* find_array(const json::object& object, std::string_view key) {
    const json::value* const value = find_field(object, key);
    return value == nullptr ? nullptr : value->if_array();
}

std::string_view text_field(const json::object& object, std::string_view key) {
    const json::value* const value = find_field(object, key);
    const json::string* const text = value == nullptr ? nullptr : value->if_string();
    return text == nullptr ? std::string_view() : std::string_view(*text);
}

std::optional<bool> switch_field(
    const json::object& object, std::string_view key, bool by_default
) {
    const json::value* const value = find_field(object, key);
    if (value == nullptr) {
        return by_default;
    }
    return value->is_bool() ? std::optional(value->get_bool()) : std::nullopt;
}

std::optional<std::uint32_t> to_id(const json::value* value, std::size_t end) {
    if (value == nullptr || !value->is_int64() || value->get_int64() < 0 ||
        static_cast<std::uint64_t>(value->get_int64()) >= end) {
        return std::nullopt;
    }
    return static_cast<std::uint32_t>(value->get_int64());
}

std::string shown(std::string_view text) {
    return models::printable(std::string(text.substr(0, 60)));
}

}  // namespace stacking::tokenizers
