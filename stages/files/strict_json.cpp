#include "stages/files/strict_json.hpp"

#include <boost/json/basic_parser_impl.hpp>
#include <boost/json/parse.hpp>

#include <cstddef>
#include <string>
#include <utility>

namespace stages {

namespace {

namespace json = boost::json;

constexpr std::size_t kDepthMax = 16;

/// Counts the keys that the parser sees. The names of the members are those that Boost.JSON wants.
class KeyCounter {
 public:
    // NOLINTBEGIN(readability-identifier-naming): Boost.JSON looks them up under these names
    static constexpr std::size_t max_array_size = ~std::size_t{0};
    static constexpr std::size_t max_object_size = ~std::size_t{0};
    static constexpr std::size_t max_string_size = ~std::size_t{0};
    static constexpr std::size_t max_key_size = ~std::size_t{0};
    // NOLINTEND(readability-identifier-naming)

    using Code = json::error_code;

    bool on_document_begin(Code& /*code*/) { return true; }

    bool on_document_end(Code& /*code*/) { return true; }

    bool on_object_begin(Code& /*code*/) { return true; }

    bool on_object_end(std::size_t members, Code& /*code*/) {
        keys_ += members;
        return true;
    }

    bool on_array_begin(Code& /*code*/) { return true; }

    bool on_array_end(std::size_t /*elements*/, Code& /*code*/) { return true; }

    bool on_key_part(json::string_view /*part*/, std::size_t /*so_far*/, Code& /*code*/) {
        return true;
    }

    bool on_key(json::string_view /*part*/, std::size_t /*size*/, Code& /*code*/) { return true; }

    bool on_string_part(json::string_view /*part*/, std::size_t /*so_far*/, Code& /*code*/) {
        return true;
    }

    bool on_string(json::string_view /*part*/, std::size_t /*size*/, Code& /*code*/) {
        return true;
    }

    bool on_number_part(json::string_view /*part*/, Code& /*code*/) { return true; }

    bool on_int64(std::int64_t /*value*/, json::string_view /*text*/, Code& /*code*/) {
        return true;
    }

    bool on_uint64(std::uint64_t /*value*/, json::string_view /*text*/, Code& /*code*/) {
        return true;
    }

    bool on_double(double /*value*/, json::string_view /*text*/, Code& /*code*/) { return true; }

    bool on_bool(bool /*value*/, Code& /*code*/) { return true; }

    bool on_null(Code& /*code*/) { return true; }

    bool on_comment_part(json::string_view /*part*/, Code& /*code*/) { return true; }

    bool on_comment(json::string_view /*part*/, Code& /*code*/) { return true; }

    [[nodiscard]] std::size_t keys() const { return keys_; }

 private:
    std::size_t keys_ = 0;
};

/// Number of members of all objects in a value, which is at most kDepthMax deep.
std::size_t count_members(const json::value& value) {
    std::size_t members = 0;
    if (const json::object* const object = value.if_object()) {
        members = object->size();
        for (const auto& member : *object) {
            members += count_members(member.value());
        }
    } else if (const json::array* const array = value.if_array()) {
        for (const json::value& element : *array) {
            members += count_members(element);
        }
    }
    return members;
}

swarm::Error not_json(std::string detail) {
    return {swarm::ErrorCode::Malformed, swarm::Reaction::Reject, std::move(detail)};
}

}  // namespace

swarm::Result<json::value> parse_strict_json(std::string_view text) {
    json::parse_options options;
    options.max_depth = kDepthMax;
    json::error_code code;
    json::value value = json::parse({text.data(), text.size()}, code, {}, options);
    if (code) {
        return not_json("not JSON (" + code.message() + ")");
    }
    // The value has the last one alone of members with one key, so it has fewer than the text.
    json::basic_parser<KeyCounter> counter(options);
    counter.write_some(false, text.data(), text.size(), code);
    if (code || counter.handler().keys() != count_members(value)) {
        return not_json("a JSON object has one key twice");
    }
    return value;
}

}  // namespace stages
