// Fields of the objects in a tokenizer.json, and the errors of their readers.
// Threading: pure functions. Errors: none; a field of another type counts as absent where the
// function does not say otherwise.
#pragma once

#include "swarm/base/result.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace stacking::tokenizers {

swarm::Error unsupported_part(const std::string& what);
swarm::Error malformed_part(const std::string& what);

/// Returns null when the member is absent or null.
const boost::json::value* find_field(const boost::json::object& object, std::string_view key);
const boost::json::object* find_object(const boost::json::object& object, std::string_view key);
const boost::json::array* find_array(const boost::json::object& object, std::string_view key);

/// Returns an empty text when the member is absent or no text.
std::string_view text_field(const boost::json::object& object, std::string_view key);

/// Returns a switch, or the default of an absent one; nullopt: it is neither true nor false.
std::optional<bool> switch_field(
    const boost::json::object& object, std::string_view key, bool by_default
);

/// Reads a whole number below `end`.
std::optional<std::uint32_t> to_id(const boost::json::value* value, std::size_t end);

/// Returns a text for an error: printable, and not long.
std::string shown(std::string_view text);

}  // namespace stacking::tokenizers
