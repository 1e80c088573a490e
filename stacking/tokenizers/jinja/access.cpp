// Items, attributes and slices.
#include "stacking/tokenizers/jinja/methods.hpp"
#include "stacking/tokenizers/jinja/operators.hpp"
#include "stacking/tokenizers/jinja/printing.hpp"
#include "swarm/base/try.hpp"

#include <algorithm>

namespace stacking::tokenizers::jinja {
namespace {

/// Shows a key, or the beginning of one that is long.
std::string shown_key(const Value& key) {
    constexpr std::size_t kShown = 40;
    if (key.text() != nullptr) {
        const std::size_t size = bytes_of_characters(key.text()->bytes(), kShown);
        const Result<Text> text = to_repr(Value(key.text()->part(0, size)));
        return text ? text->bytes() : key.type_name();
    }
    const Result<Text> text = key.weight() == 1 ? to_repr(key) : Result<Text>(Text());
    return text && !text->empty() ? text->bytes() : key.type_name();
}

Result<Value> no_item(Context& context, const Value& value, const Value& key) {
    SWARM_TRY(context.charge(kStepsPerElement));
    return Value::undefined("'" + value.type_name() + "' has no element " + shown_key(key));
}

/// Returns the place that an index means in so many elements; nullopt: none.
std::optional<std::size_t> place_of(std::int64_t index, std::size_t size) {
    const auto count = static_cast<std::int64_t>(size);
    const std::int64_t place = index < 0 && index >= -count ? index + count : index;
    return place < 0 || place >= count ? std::nullopt
                                       : std::optional(static_cast<std::size_t>(place));
}

/// Returns the element of a container; nullopt: there is none.
Result<std::optional<Value>> element_at(Context& context, const Value& value, const Value& key) {
    const auto index = key.as_integer();
    if (value.dict() != nullptr) {
        SWARM_TRY(context.charge_look_up(key.weight(), value.dict()->entries.size()));
        const Value* const found = value.dict()->find(key);
        return found == nullptr ? std::nullopt : std::optional(*found);
    }
    if (value.list() != nullptr && index) {
        const auto& items = value.list()->items;
        const auto place = place_of(*index, items.size());
        return place ? std::optional(items[*place]) : std::nullopt;
    }
    if (value.text() != nullptr && index) {
        SWARM_TRY(context.charge(value.text()->size() / kCharactersPerStep));
        const auto starts = character_starts(value.text()->bytes());
        const auto place = place_of(*index, starts.size() - 1);
        return place ? std::optional(Value(
                           value.text()->part(starts[*place], starts[*place + 1] - starts[*place])
                       ))
                     : std::nullopt;
    }
    return std::optional<Value>();
}

Value loop_attribute(Loop& loop, std::string_view name) {
    const std::size_t length = loop.items->items.size();
    if (name == "index") {
        return Value::size(loop.at + 1);
    }
    if (name == "index0") {
        return Value::size(loop.at);
    }
    if (name == "first") {
        return loop.at == 0;
    }
    if (name == "last") {
        return loop.at + 1 == length;
    }
    if (name == "length") {
        return Value::size(length);
    }
    if (name == "revindex") {
        return Value::size(length - loop.at);
    }
    if (name == "revindex0") {
        return Value::size(length - loop.at - 1);
    }
    if (name == "depth") {
        return Value(std::int64_t{1});  // only a recursive for goes deeper
    }
    if (name == "depth0") {
        return Value(std::int64_t{0});
    }
    if (name == "previtem") {
        return loop.at > 0 ? loop.items->items[loop.at - 1]
                           : Value::undefined("there is no previous item");
    }
    if (name == "nextitem") {
        return loop.at + 1 < length ? loop.items->items[loop.at + 1]
                                    : Value::undefined("there is no next item");
    }
    return Value::undefined("a loop has no attribute '" + std::string(name) + "'");
}

Value method_value(const Value& self, std::string_view name) {
    Callable method{Callable::Kind::Method, std::string(name), self};
    return std::make_shared<const Callable>(std::move(method));
}

/// A slice's bounds within so many elements, as Python clips them.
struct Bounds {
    std::int64_t begin;
    std::int64_t end;
    std::int64_t step;
};

Result<std::int64_t> bound_of(const Value* given, std::int64_t fallback) {
    if (given == nullptr || given->is_none()) {
        return fallback;
    }
    const auto number = given->as_integer();
    return number ? Result<std::int64_t>(*number)
                  : failure("a slice wants integers, not '" + given->type_name() + "'");
}

Result<Bounds> bounds_of(
    std::size_t elements, const Value* begin, const Value* end, const Value* step
) {
    const auto size = static_cast<std::int64_t>(elements);
    SWARM_TRY(const std::int64_t stride, bound_of(step, 1));
    if (stride == 0) {
        return failure("the step of a slice is 0");
    }
    const bool back = stride < 0;
    const auto clip = [&](std::int64_t at) {
        const std::int64_t place = at < 0 && at >= -size ? at + size : at;
        return std::clamp<std::int64_t>(place, back ? -1 : 0, back ? size - 1 : size);
    };
    const bool begins = begin != nullptr && !begin->is_none();
    const bool ends = end != nullptr && !end->is_none();
    SWARM_TRY(const std::int64_t first, bound_of(begin, 0));
    SWARM_TRY(const std::int64_t last, bound_of(end, 0));
    return Bounds{
        begins ? clip(first) : (back ? size - 1 : 0),
        ends ? clip(last) : (back ? -1 : size),
        stride};
}

}  // namespace

Result<Value> item_of(Context& context, const Value& value, const Value& key) {
    if (value.is_undefined()) {
        return failure(undefined_message(value));
    }
    SWARM_TRY(std::optional<Value> element, element_at(context, value, key));
    if (element) {
        return *std::move(element);
    }
    if (key.text() == nullptr) {
        return no_item(context, value, key);
    }
    const std::string& name = key.text()->bytes();
    SWARM_TRY(context.charge(key.weight()));
    if (value.names() != nullptr || value.loop() != nullptr || has_method(value, name)) {
        return attribute_of(context, value, name);
    }
    return no_item(context, value, key);
}

Result<Value> attribute_of(Context& context, const Value& value, std::string_view name) {
    if (value.is_undefined()) {
        return failure(undefined_message(value));
    }
    SWARM_TRY(context.charge(1 + name.size() / kBytesPerStep));
    if (has_method(value, name)) {
        return method_value(value, name);
    }
    if (value.loop() != nullptr) {
        return loop_attribute(*value.loop(), name);
    }
    if (value.names() != nullptr) {
        SWARM_TRY(
            context.charge_look_up(1 + name.size() / kBytesPerStep, value.names()->names.size())
        );
        const Value* const found = value.names()->find(name);
        return found != nullptr
                   ? *found
                   : Value::undefined("the namespace has no '" + std::string(name) + "'");
    }
    if (value.callable() != nullptr && value.callable()->macro != nullptr && name == "name") {
        return make_text(value.callable()->name);
    }
    if (value.dict() != nullptr) {
        SWARM_TRY(
            context.charge_look_up(1 + name.size() / kBytesPerStep, value.dict()->entries.size())
        );
        if (const Value* const found = value.dict()->find(name)) {
            return *found;
        }
    }
    SWARM_TRY(context.charge(kStepsPerElement));
    return Value::undefined(
        "'" + value.type_name() + "' has no attribute '" + std::string(name) + "'"
    );
}

Result<Value> slice_of(
    Context& context, const Value& value, const Value* begin, const Value* end, const Value* step
) {
    if (value.is_undefined()) {
        return failure(undefined_message(value));
    }
    if (const Text* const text = value.text()) {
        SWARM_TRY(context.charge(1 + text->size() / kCharactersPerStep));
        const auto starts = character_starts(text->bytes());
        SWARM_TRY(const Bounds bounds, bounds_of(starts.size() - 1, begin, end, step));
        if (bounds.step == 1) {
            const auto first = static_cast<std::size_t>(bounds.begin);
            const auto last = static_cast<std::size_t>(std::max(bounds.begin, bounds.end));
            return Value(text->part(starts[first], starts[last] - starts[first]));
        }
        Text part;
        for (std::int64_t at = bounds.begin; bounds.step > 0 ? at < bounds.end : at > bounds.end;) {
            const auto place = static_cast<std::size_t>(at);
            part.append(*text, starts[place], starts[place + 1] - starts[place]);
            if (__builtin_add_overflow(at, bounds.step, &at)) {
                break;
            }
        }
        return Value(std::move(part));
    }
    if (value.list() == nullptr) {
        return failure("'" + value.type_name() + "' cannot be cut into slices");
    }
    const auto& items = value.list()->items;
    SWARM_TRY(context.charge(1 + items.size()));
    SWARM_TRY(const Bounds bounds, bounds_of(items.size(), begin, end, step));
    std::vector<Value> part;
    for (std::int64_t at = bounds.begin; bounds.step > 0 ? at < bounds.end : at > bounds.end;) {
        part.push_back(items[static_cast<std::size_t>(at)]);
        if (__builtin_add_overflow(at, bounds.step, &at)) {
            break;
        }
    }
    const bool is_tuple = value.list()->kind == List::Kind::Tuple;
    return make_list(std::move(part), is_tuple ? List::Kind::Tuple : List::Kind::List);
}

}  // namespace stacking::tokenizers::jinja
