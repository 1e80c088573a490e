#include "stacking/tokenizers/jinja/value.hpp"

#include "swarm/base/try.hpp"

#include <algorithm>
#include <cmath>

namespace stacking::tokenizers::jinja {
namespace {

bool is_sequence_kind(List::Kind kind) {
    return kind != List::Kind::Iterator;
}

bool are_equal_lists(const List& left, const List& right) {
    if (left.kind != right.kind || !is_sequence_kind(left.kind)) {
        return &left == &right;
    }
    return std::equal(
        left.items.begin(), left.items.end(), right.items.begin(), right.items.end(), are_equal
    );
}

bool are_equal_dicts(const Dict& left, const Dict& right) {
    const auto are_same = [&](std::uint32_t one, std::uint32_t other) {
        const Dict::Entry& first = left.entries[one];
        const Dict::Entry& second = right.entries[other];
        return order_of_keys(first.first, second.first) == std::strong_ordering::equal &&
               are_equal(first.second, second.second);
    };
    return std::equal(
        left.by_key.begin(), left.by_key.end(), right.by_key.begin(), right.by_key.end(), are_same
    );
}

/// Compares as Python does, which rounds neither of them.
std::partial_ordering order_of_numbers(std::int64_t whole, double real) {
    constexpr double kBeyond = 9223372036854775808.0;  // 2 ** 63
    if (std::isnan(real)) {
        return std::partial_ordering::unordered;
    }
    if (real >= kBeyond || real < -kBeyond) {
        return 0.0 <=> real;
    }
    const auto part = static_cast<std::int64_t>(real);
    return whole != part ? std::partial_ordering(whole <=> part)
                         : 0.0 <=> real - static_cast<double>(part);
}

/// REQUIRES: as_real() of both.
std::partial_ordering order_of_numbers(const Value& left, const Value& right) {
    const auto one = left.as_integer();
    const auto other = right.as_integer();
    if (one && other) {
        return *one <=> *other;
    }
    if (one) {
        return order_of_numbers(*one, *right.real());
    }
    return other ? 0 <=> order_of_numbers(*other, *left.real()) : *left.real() <=> *right.real();
}

std::strong_ordering order_of_bytes(std::string_view left, std::string_view right) {
    return left.compare(right) <=> 0;  // UTF-8 sorts as its code points do
}

/// Kinds of keys in their order. Text is the last.
enum class KeyKind : std::uint8_t { None, Undefined, Number, NotANumber, Tuple, Text };

KeyKind key_kind(const Value& key) {
    if (key.text() != nullptr) {
        return KeyKind::Text;
    }
    if (const auto number = key.as_real()) {
        return std::isnan(*number) ? KeyKind::NotANumber : KeyKind::Number;
    }
    return key.list() != nullptr ? KeyKind::Tuple
           : key.is_none()       ? KeyKind::None
                                 : KeyKind::Undefined;
}

bool has_order(const List& list) {
    return list.kind == List::Kind::List || list.kind == List::Kind::Tuple;
}

/// Orders items of lists, where Python asks for == before it asks for <.
Result<std::partial_ordering> order_of_items(const Value& left, const Value& right) {
    const bool is_ordered = (left.as_real() && right.as_real()) ||
                            (left.text() != nullptr && right.text() != nullptr) ||
                            (left.list() != nullptr && right.list() != nullptr &&
                             left.list()->kind == right.list()->kind && has_order(*left.list()));
    return !is_ordered && are_equal(left, right)
               ? Result<std::partial_ordering>(std::partial_ordering::equivalent)
               : order_of(left, right);
}

Result<> check_size(
    const char* kind, std::size_t elements, std::uint32_t depth, std::uint64_t weight
) {
    if (elements > kElementsMax || weight > kStepsMax) {
        return beyond_bound(std::string("a ") + kind + " is too large");
    }
    if (depth > kValueDepthMax) {
        return beyond_bound(
            std::string("a ") + kind + " is deeper than " + std::to_string(kValueDepthMax)
        );
    }
    return {};
}

}  // namespace

std::optional<std::int64_t> Value::as_integer() const {
    if (const bool* const truth = boolean()) {
        return *truth ? 1 : 0;
    }
    const std::int64_t* const number = integer();
    return number == nullptr ? std::nullopt : std::optional(*number);
}

std::optional<double> Value::as_real() const {
    if (const double* const number = real()) {
        return *number;
    }
    const auto number = as_integer();
    return number ? std::optional(static_cast<double>(*number)) : std::nullopt;
}

bool Value::is_true() const {
    if (const auto number = as_real()) {
        return *number != 0;
    }
    if (text() != nullptr) {
        return !text()->empty();
    }
    if (list() != nullptr) {
        return !list()->items.empty() || list()->kind == List::Kind::Iterator;
    }
    if (dict() != nullptr) {
        return !dict()->entries.empty();
    }
    return !is_undefined() && !is_none();
}

std::uint32_t Value::depth() const {
    if (callable() != nullptr) {
        return callable()->self.depth() + 1;  // a method owns the value that it belongs to
    }
    return list() != nullptr ? list()->depth : dict() != nullptr ? dict()->depth : 0;
}

std::uint64_t Value::weight() const {
    if (text() != nullptr) {
        return 1 + text()->weight();
    }
    if (callable() != nullptr) {
        return 1 + callable()->self.weight();
    }
    return list() != nullptr ? list()->weight : dict() != nullptr ? dict()->weight : 1;
}

std::string Value::type_name() const {
    static constexpr const char* kNames[] = {
        "Undefined",
        "NoneType",
        "bool",
        "int",
        "float",
        "str",
        "list",
        "dict",
        "Namespace",
        "LoopContext",
        "function"};
    if (list() != nullptr) {
        static constexpr const char* kLists[] = {
            "list", "tuple", "range", "dict_keys", "dict_values", "dict_items", "generator"};
        return kLists[static_cast<std::size_t>(list()->kind)];
    }
    return kNames[kind_.index()];
}

std::string undefined_message(const Value& value) {
    const auto* const undefined = std::get_if<Undefined>(&value.kind_);
    return undefined == nullptr || undefined->what == nullptr ? "a value is undefined"
                                                              : *undefined->what;
}

const Value* Dict::find(const Value& key) const {
    if (!can_be_key(key)) {
        return nullptr;
    }
    const auto found = std::lower_bound(
        by_key.begin(),
        by_key.end(),
        key,
        [&](std::uint32_t place, const Value& wanted) {
            return order_of_keys(entries[place].first, wanted) < 0;
        }
    );
    const bool is_there = found != by_key.end() && order_of_keys(entries[*found].first, key) == 0;
    return is_there ? &entries[*found].second : nullptr;
}

const Value* Dict::find(std::string_view key) const {
    const auto found = std::lower_bound(
        by_key.begin(),
        by_key.end(),
        key,
        [&](std::uint32_t place, std::string_view wanted) {
            const Text* const text = entries[place].first.text();
            return text == nullptr || text->bytes() < wanted;  // texts come behind other keys
        }
    );
    const bool is_there = found != by_key.end() && entries[*found].first.text()->bytes() == key;
    return is_there ? &entries[*found].second : nullptr;
}

const Value* Namespace::find(std::string_view name) const {
    const auto found = names.find(name);
    return found == names.end() ? nullptr : &found->second;
}

void Namespace::set(std::string_view name, Value value) {
    names.insert_or_assign(std::string(name), std::move(value));
}

Result<Value> make_list(std::vector<Value> items, List::Kind kind) {
    List list{std::move(items), kind};
    for (const Value& item : list.items) {
        list.depth = std::max(list.depth, item.depth() + 1);
        list.weight += item.weight();
    }
    SWARM_TRY(check_size("list", list.items.size(), list.depth, list.weight));
    return Value(std::make_shared<const List>(std::move(list)));
}

Result<Value> make_dict(std::vector<Dict::Entry> entries) {
    SWARM_TRY(check_size("dict", entries.size(), 0, 0));
    std::vector<std::uint32_t> order(entries.size());
    for (std::size_t i = 0; i < entries.size(); ++i) {
        order[i] = static_cast<std::uint32_t>(i);
        if (!can_be_key(entries[i].first)) {
            return failure("unhashable type: '" + entries[i].first.type_name() + "'");
        }
    }
    std::stable_sort(order.begin(), order.end(), [&](std::uint32_t left, std::uint32_t right) {
        return order_of_keys(entries[left].first, entries[right].first) < 0;
    });
    Dict dict;
    std::vector<bool> is_again(entries.size());
    for (const std::uint32_t place : order) {
        if (!dict.by_key.empty() &&
            order_of_keys(entries[dict.by_key.back()].first, entries[place].first) == 0) {
            entries[dict.by_key.back()].second = std::move(entries[place].second);
            is_again[place] = true;
        } else {
            dict.by_key.push_back(place);
        }
    }
    std::vector<std::uint32_t> moved(entries.size());  // each entry's place among those that stay
    for (std::size_t i = 0; i < entries.size(); ++i) {
        moved[i] = static_cast<std::uint32_t>(dict.entries.size());
        if (!is_again[i]) {
            const auto& [key, value] = dict.entries.emplace_back(std::move(entries[i]));
            dict.depth = std::max({dict.depth, value.depth() + 1, key.depth() + 1});
            dict.weight += key.weight() + value.weight();
        }
    }
    for (std::uint32_t& place : dict.by_key) {
        place = moved[place];
    }
    SWARM_TRY(check_size("dict", dict.entries.size(), dict.depth, dict.weight));
    return Value(std::make_shared<const Dict>(std::move(dict)));
}

bool can_be_key(const Value& value) {
    if (const List* const list = value.list()) {
        return list->kind == List::Kind::Tuple &&
               std::all_of(list->items.begin(), list->items.end(), can_be_key);
    }
    return value.text() != nullptr || value.as_real() || value.is_none() || value.is_undefined();
}

std::strong_ordering order_of_keys(const Value& left, const Value& right) {
    const KeyKind kind = key_kind(left);
    if (kind != key_kind(right)) {
        return kind <=> key_kind(right);
    }
    if (kind == KeyKind::Text) {
        return order_of_bytes(left.text()->bytes(), right.text()->bytes());
    }
    if (kind == KeyKind::Number) {
        const std::partial_ordering order = order_of_numbers(left, right);
        return order < 0   ? std::strong_ordering::less
               : order > 0 ? std::strong_ordering::greater
                           : std::strong_ordering::equal;
    }
    if (kind == KeyKind::Tuple) {
        const std::vector<Value>& one = left.list()->items;
        const std::vector<Value>& other = right.list()->items;
        for (std::size_t i = 0; i < std::min(one.size(), other.size()); ++i) {
            if (const auto order = order_of_keys(one[i], other[i]); order != 0) {
                return order;
            }
        }
        return one.size() <=> other.size();
    }
    return std::strong_ordering::equal;
}

bool are_equal(const Value& left, const Value& right) {
    if (left.as_real() && right.as_real()) {
        return order_of_numbers(left, right) == 0;
    }
    if (left.text() != nullptr && right.text() != nullptr) {
        return left.text()->bytes() == right.text()->bytes();
    }
    if (left.list() != nullptr && right.list() != nullptr) {
        return are_equal_lists(*left.list(), *right.list());
    }
    if (left.dict() != nullptr && right.dict() != nullptr) {
        return are_equal_dicts(*left.dict(), *right.dict());
    }
    return (left.is_none() && right.is_none()) || (left.is_undefined() && right.is_undefined()) ||
           (left.names() != nullptr && left.names() == right.names()) ||
           (left.loop() != nullptr && left.loop() == right.loop()) ||
           (left.callable() != nullptr && left.callable() == right.callable());
}

Result<std::partial_ordering> order_of(const Value& left, const Value& right) {
    using Order = std::partial_ordering;
    if (left.as_real() && right.as_real()) {
        return order_of_numbers(left, right);
    }
    if (left.text() != nullptr && right.text() != nullptr) {
        return Order(order_of_bytes(left.text()->bytes(), right.text()->bytes()));
    }
    const List* const one = left.list();
    const List* const other = right.list();
    if (one != nullptr && other != nullptr && one->kind == other->kind && has_order(*one)) {
        for (std::size_t i = 0; i < std::min(one->items.size(), other->items.size()); ++i) {
            SWARM_TRY(const Order order, order_of_items(one->items[i], other->items[i]));
            if (order != 0) {
                return order;
            }
        }
        return Order(one->items.size() <=> other->items.size());
    }
    for (const Value* const value : {&left, &right}) {
        if (value->is_undefined()) {
            return failure(undefined_message(*value));
        }
    }
    return failure(
        "'<' is not supported between '" + left.type_name() + "' and '" + right.type_name() + "'"
    );
}

}  // namespace stacking::tokenizers::jinja
