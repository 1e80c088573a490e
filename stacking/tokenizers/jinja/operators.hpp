// Operators, indices and slices, which do what they do in Python.
// Invariant: integers have 64 bits; a result that has not is an error. Texts count in characters.
// Threading: one thread per Context. Errors: Malformed (types that do not fit, division by zero,
// overflow), TooLarge.
#pragma once

#include "stacking/tokenizers/jinja/context.hpp"

#include <memory>
#include <optional>
#include <span>
#include <string_view>

namespace stacking::tokenizers::jinja {

/// `name`: + - * / // % **
Result<Value> apply_operator(
    Context& context, std::string_view name, const Value& left, const Value& right
);

/// `name`: + or -
Result<Value> apply_sign(std::string_view name, const Value& value);

/// `name`: == != < <= > >= in "not in"
Result<bool> compare(
    Context& context, std::string_view name, const Value& left, const Value& right
);

/// value[key]: an element, or else what value.key is. Undefined: there is none.
Result<Value> item_of(Context& context, const Value& value, const Value& key);

/// value.name: a method or attribute of the type, or else value["name"]. Undefined: there is none.
Result<Value> attribute_of(Context& context, const Value& value, std::string_view name);

/// value[begin:end:step]; null: left out.
Result<Value> slice_of(
    Context& context, const Value& value, const Value* begin, const Value* end, const Value* step
);

/// Returns what a for goes through: elements, characters, or keys.
Result<std::shared_ptr<const List>> elements_of(Context& context, const Value& value);

/// len(). Errors: a value without a length.
Result<std::int64_t> length_of(Context& context, const Value& value);

/// text % values.
Result<Value> format_text(
    Context& context, const Text& format, std::span<const Value> values, const Dict* names
);

}  // namespace stacking::tokenizers::jinja
