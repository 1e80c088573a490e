// Reads the fields of a JSON object that a client sent. The first field that is wrong makes the
// error; what is read after it counts for nothing.
// Invariant: a field that is absent or null has its default; numbers that are read are finite and
// within their bounds.
// Threading: one thread. Errors: error(), status 400, with the name of the field.
// Bounds: the object has passed parse_object(), which bounds its depth; its size is that of a
// body, which swarm/http bounds.
#pragma once

#include "swarm/node/web_error.hpp"

#include <boost/json/object.hpp>
#include <boost/system/result.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace stacking::api {

namespace json = boost::json;
namespace node = swarm::node;

/// A value, or the error that the client gets.
template <class T>
using Answer = boost::system::result<T, node::WebError>;

/// An error of the client's, status 400.
node::WebError bad_field(std::string param, std::string why);

/// Parses a body; it must be one object, in UTF-8.
Answer<json::object> parse_object(std::string_view body);

class RequestFields {
 public:
    explicit RequestFields(const json::object& object) : object_(object) {}

    /// Returns null when the field is absent or null.
    [[nodiscard]] const json::value* find(std::string_view name) const;

    std::string text(std::string_view name);
    bool flag(std::string_view name);
    std::optional<double> number(std::string_view name, double least, double most);
    std::optional<std::int64_t> integer(
        std::string_view name, std::int64_t least, std::int64_t most
    );

    /// Refuses the request for this field.
    void refuse(std::string_view name, std::string why);

    [[nodiscard]] const std::optional<node::WebError>& error() const { return error_; }

 private:
    const json::object& object_;
    std::optional<node::WebError> error_;
};

}  // namespace stacking::api
