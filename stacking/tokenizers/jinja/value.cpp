#include "stacking/tokenizers/jinja/value.hpp"

#include "swarm/base/try.hpp"

#include <algorithm>

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
    const auto is_there = [&](const Dict::Entry& entry) {
        const Value* const other = right.find(entry.first);
        return other != nullptr && are_equal(entry.second, *other);
    };
    return left.entries.size() == right.entries.size() &&
           std::all_of(left.entries.begin(), left.entries.end(), is_there);
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
        return 1 + text()->size() / kBytesPerStep;
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
    for (const Entry& entry : entries) {
        if (are_equal(entry.first, key)) {
            return &entry.second;
        }
    }
    return nullptr;
}

const Value* Dict::find(std::string_view key) const {
    for (const Entry& entry : entries) {
        if (entry.first.text() != nullptr && entry.first.text()->bytes() == key) {
            return &entry.second;
        }
    }
    return nullptr;
}

const Value* Namespace::find(std::string_view name) const {
    for (const auto& [known, value] : names) {
        if (known == name) {
            return &value;
        }
    }
    return nullptr;
}

void Namespace::set(std::string_view name, Value value) {
    for (auto& [known, old] : names) {
        if (known == name) {
            old = std::move(value);
            return;
        }
    }
    names.emplace_back(name, std::move(value));
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
    Dict dict{std::move(entries)};
    for (const auto& [key, value] : dict.entries) {
        dict.depth = std::max({dict.depth, value.depth() + 1, key.depth() + 1});
        dict.weight += key.weight() + value.weight();
    }
    SWARM_TRY(check_size("dict", dict.entries.size(), dict.depth, dict.weight));
    return Value(std::make_shared<const Dict>(std::move(dict)));
}

Result<> put(std::vector<Dict::Entry>& entries, Value key, Value value) {
    const bool is_list = key.list() != nullptr && key.list()->kind != List::Kind::Tuple;
    if (is_list || key.dict() != nullptr) {
        return failure("unhashable type: '" + key.type_name() + "'");
    }
    for (Dict::Entry& entry : entries) {
        if (are_equal(entry.first, key)) {
            entry.second = std::move(value);
            return {};
        }
    }
    entries.emplace_back(std::move(key), std::move(value));
    return {};
}

bool are_equal(const Value& left, const Value& right) {
    if (left.as_integer() && right.as_integer()) {
        return *left.as_integer() == *right.as_integer();
    }
    if (left.as_real() && right.as_real()) {
        return *left.as_real() == *right.as_real();
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

Result<bool> is_less(const Value& left, const Value& right) {
    if (left.as_integer() && right.as_integer()) {
        return *left.as_integer() < *right.as_integer();
    }
    if (left.as_real() && right.as_real()) {
        return *left.as_real() < *right.as_real();
    }
    if (left.text() != nullptr && right.text() != nullptr) {
        return left.text()->bytes() < right.text()->bytes();  // UTF-8 sorts as its code points do
    }
    const List* const one = left.list();
    const List* const other = right.list();
    if (one != nullptr && other != nullptr && one->kind == other->kind &&
        (one->kind == List::Kind::List || one->kind == List::Kind::Tuple)) {
        for (std::size_t i = 0; i < std::min(one->items.size(), other->items.size()); ++i) {
            if (!are_equal(one->items[i], other->items[i])) {
                return is_less(one->items[i], other->items[i]);
            }
        }
        return one->items.size() < other->items.size();
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
