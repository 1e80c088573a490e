// Filters of lists, dicts and choices among values.
#include "stacking/tokenizers/jinja/arguments.hpp"
#include "stacking/tokenizers/jinja/filters.hpp"
#include "stacking/tokenizers/jinja/operators.hpp"
#include "stacking/tokenizers/jinja/printing.hpp"
#include "stacking/tokenizers/jinja/text_tools.hpp"
#include "stacking/tokenizers/jinja/value_tests.hpp"
#include "swarm/base/try.hpp"

#include <algorithm>
#include <charconv>
#include <set>

namespace stacking::tokenizers::jinja {
namespace {

using Binding = BoundArguments;
using Items = std::vector<Value>;

Result<Items> items_of(Context& context, const Value& value) {
    SWARM_TRY(const auto list, elements_of(context, value));
    SWARM_TRY(context.charge(1 + list->items.size()));
    return list->items;
}

/// The attribute "a.b" in its parts: item["a"]["b"]; numbers are places.
class AttributePath {
 public:
    static Result<AttributePath> read(Context& context, const Value& attribute) {
        AttributePath path;
        if (attribute.as_integer()) {
            path.parts_.push_back(attribute);
            return path;
        }
        if (attribute.text() == nullptr) {
            return failure("an attribute wants a name");
        }
        SWARM_TRY(context.charge(attribute.weight() + attribute.text()->size()));
        const Text point(".");
        const std::vector<Text> parts = split(*attribute.text(), &point, -1);
        if (parts.size() > kElementsMax) {
            return beyond_bound("an attribute has too many parts");
        }
        for (const Text& part : parts) {
            const std::string& bytes = part.bytes();
            std::int64_t place = 0;
            const auto read = std::from_chars(bytes.data(), bytes.data() + bytes.size(), place);
            const bool is_place = read.ec == std::errc() && read.ptr == bytes.data() + bytes.size();
            path.parts_.push_back(is_place ? Value(place) : Value(part));
        }
        return path;
    }

    /// `fallback` stands for a part that is undefined; null: none does.
    Result<Value> follow(Context& context, Value item, const Value* fallback = nullptr) const {
        for (const Value& part : parts_) {
            SWARM_TRY(context.charge(1));
            SWARM_TRY(item, item_of(context, item, part));
            if (fallback != nullptr && item.is_undefined()) {
                item = *fallback;
            }
        }
        return item;
    }

 private:
    std::vector<Value> parts_;
};

/// Reads an argument that may be left out: no attribute is the item itself.
Result<AttributePath> read_path(Context& context, const Value* attribute) {
    return attribute == nullptr || attribute->is_none() ? AttributePath()
                                                        : AttributePath::read(context, *attribute);
}

/// Gives texts in lower case, unless case counts.
Result<Value> sort_key(Context& context, Value value, bool case_sensitive) {
    if (value.text() == nullptr || case_sensitive) {
        return value;
    }
    SWARM_TRY(context.charge(1 + value.text()->size() / kCharactersPerStep));
    Text lower = to_lower(*value.text());
    SWARM_TRY(context.charge_text(0, lower));
    return Value(std::move(lower));
}

/// Whether a key stands before another one, paid for.
Result<bool> is_before(Context& context, const Value& left, const Value& right) {
    SWARM_TRY(context.charge(std::min(left.weight(), right.weight())));
    SWARM_TRY(const std::partial_ordering order, order_of(left, right));
    return order < 0;
}

/// Sorts by keys, stably; equal keys stay in their order, also in reverse.
Result<Items> sorted(Context& context, const Items& items, const Items& keys, bool reverse) {
    std::vector<std::size_t> order(items.size());
    for (std::size_t i = 0; i < order.size(); ++i) {
        order[i] = i;
    }
    std::optional<Error> error;
    std::stable_sort(order.begin(), order.end(), [&](std::size_t left, std::size_t right) {
        const Value& first = keys[reverse ? right : left];
        const Value& second = keys[reverse ? left : right];
        if (error) {
            return false;
        }
        const Result<bool> less = is_before(context, first, second);
        if (!less) {
            error = less.error();
        }
        return less && *less;
    });
    if (error) {
        return *std::move(error);
    }
    Items out;
    for (const std::size_t place : order) {
        out.push_back(items[place]);
    }
    return out;
}

Result<Value> join_filter(Context& context, const Value& value, const Arguments& given) {
    SWARM_TRY(const Binding bound, Binding::bind("join", given, {"d", "attribute"}));
    SWARM_TRY(const Items items, items_of(context, value));
    SWARM_TRY(
        const Text between,
        bound.find(0) == nullptr ? Result<Text>(Text()) : paid_text(context, *bound.find(0))
    );
    SWARM_TRY(const AttributePath path, read_path(context, bound.find(1)));
    Text joined;
    for (std::size_t i = 0; i < items.size(); ++i) {
        SWARM_TRY(const Value item, path.follow(context, items[i]));
        SWARM_TRY(const Text text, paid_text(context, item));
        if (i > 0) {
            SWARM_TRY(context.charge_text(joined.size(), between));
            joined.append(between);
        }
        SWARM_TRY(context.charge_text(joined.size(), text));
        joined.append(text);
    }
    return Value(std::move(joined));
}

Result<Value> first_filter(Context& context, const Value& value, const Arguments& given) {
    SWARM_TRY(Binding::bind("first", given, {}));
    SWARM_TRY(const auto list, elements_of(context, value));
    return list->items.empty() ? Value::undefined("No first item, sequence was empty.")
                               : list->items.front();
}

Result<Value> last_filter(Context& context, const Value& value, const Arguments& given) {
    SWARM_TRY(Binding::bind("last", given, {}));
    SWARM_TRY(const auto list, elements_of(context, value));
    return list->items.empty() ? Value::undefined("No last item, sequence was empty.")
                               : list->items.back();
}

Result<Value> list_filter(Context& context, const Value& value, const Arguments& given) {
    SWARM_TRY(Binding::bind("list", given, {}));
    SWARM_TRY(Items items, items_of(context, value));
    return make_list(std::move(items));
}

Result<Value> reverse_filter(Context& context, const Value& value, const Arguments& given) {
    SWARM_TRY(Binding::bind("reverse", given, {}));
    if (value.text() != nullptr) {
        const Value back(std::int64_t{-1});
        return slice_of(context, value, nullptr, nullptr, &back);
    }
    SWARM_TRY(Items items, items_of(context, value));
    std::reverse(items.begin(), items.end());
    return make_list(std::move(items), List::Kind::Iterator);
}

Result<Value> map_filter(Context& context, const Value& value, const Arguments& given) {
    SWARM_TRY(const Items items, items_of(context, value));
    Arguments rest = given;
    std::optional<AttributePath> path;
    std::optional<Value> fallback;
    if (given.positional.empty()) {
        SWARM_TRY(const Binding bound, Binding::bind("map", given, {"attribute", "default"}));
        SWARM_TRY(const Value attribute, bound.need(0));
        SWARM_TRY(path, AttributePath::read(context, attribute));
        fallback = bound.find(1) != nullptr ? std::optional(*bound.find(1)) : std::nullopt;
    } else if (given.positional.front().text() == nullptr) {
        return failure("map wants the name of a filter");
    } else {
        rest.positional.erase(rest.positional.begin());
    }
    Items out;
    for (const Value& item : items) {
        if (path) {
            SWARM_TRY(Value mapped, path->follow(context, item, fallback ? &*fallback : nullptr));
            out.push_back(std::move(mapped));
        } else {
            const std::string& name = given.positional.front().text()->bytes();
            SWARM_TRY(Value mapped, apply_filter(context, name, item, rest));
            out.push_back(std::move(mapped));
        }
    }
    return make_list(std::move(out), List::Kind::Iterator);
}

/// select, reject, selectattr and rejectattr.
template <bool by_attribute, bool wanted>
Result<Value> select_filter(Context& context, const Value& value, const Arguments& given) {
    SWARM_TRY(const Items items, items_of(context, value));
    Arguments rest = given;
    if (rest.positional.size() < (by_attribute ? 1 : 0)) {
        return failure("selectattr and rejectattr want an attribute");
    }
    SWARM_TRY(
        const AttributePath path,
        by_attribute ? AttributePath::read(context, rest.positional.front()) : AttributePath()
    );
    rest.positional.erase(
        rest.positional.begin(), rest.positional.begin() + (by_attribute ? 1 : 0)
    );
    std::string test;
    if (!rest.positional.empty()) {
        if (rest.positional.front().text() == nullptr) {
            return failure("select and reject want the name of a test");
        }
        SWARM_TRY(context.charge(rest.positional.front().weight()));
        test = rest.positional.front().text()->bytes();
        rest.positional.erase(rest.positional.begin());
    }
    Items out;
    for (const Value& item : items) {
        SWARM_TRY(const Value judged, path.follow(context, item));
        bool holds = judged.is_true();
        if (!test.empty()) {
            SWARM_TRY(holds, apply_test(context, test, judged, rest));
        }
        if (holds == wanted) {
            out.push_back(item);
        }
    }
    return make_list(std::move(out), List::Kind::Iterator);
}

Result<Value> items_filter(Context& context, const Value& value, const Arguments& given) {
    SWARM_TRY(Binding::bind("items", given, {}));
    if (!value.is_undefined() && value.dict() == nullptr) {
        return failure("items wants a dict, not '" + value.type_name() + "'");
    }
    Items out;
    if (value.dict() != nullptr) {
        SWARM_TRY(context.charge(kStepsPerElement * value.dict()->entries.size()));
        for (const auto& [key, entry] : value.dict()->entries) {
            SWARM_TRY(Value pair, make_list({key, entry}, List::Kind::Tuple));
            out.push_back(std::move(pair));
        }
    }
    return make_list(std::move(out), List::Kind::Iterator);
}

Result<Value> dictsort_filter(Context& context, const Value& value, const Arguments& given) {
    SWARM_TRY(
        const Binding bound, Binding::bind("dictsort", given, {"case_sensitive", "by", "reverse"})
    );
    SWARM_TRY(const Text* const by, bound.text(1));
    const bool by_value = by != nullptr && by->bytes() == "value";
    if (value.dict() == nullptr || (by != nullptr && !by_value && by->bytes() != "key")) {
        return failure("dictsort wants a dict, and by='key' or by='value'");
    }
    SWARM_TRY(context.charge(kStepsPerElement * value.dict()->entries.size()));
    Items pairs;
    Items keys;
    for (const auto& [key, entry] : value.dict()->entries) {
        SWARM_TRY(Value pair, make_list({key, entry}, List::Kind::Tuple));
        pairs.push_back(std::move(pair));
        SWARM_TRY(Value by_it, sort_key(context, by_value ? entry : key, bound.is_true(0)));
        keys.push_back(std::move(by_it));
    }
    SWARM_TRY(Items out, sorted(context, pairs, keys, bound.is_true(2)));
    return make_list(std::move(out));
}

/// Returns the keys by which items are sorted or compared.
Result<Items> keys_of(
    Context& context, const Items& items, const Value* attribute, bool case_sensitive
) {
    SWARM_TRY(const AttributePath path, read_path(context, attribute));
    Items keys;
    for (const Value& item : items) {
        SWARM_TRY(context.charge(1));
        SWARM_TRY(Value value, path.follow(context, item));
        SWARM_TRY(Value key, sort_key(context, std::move(value), case_sensitive));
        keys.push_back(std::move(key));
    }
    return keys;
}

Result<Value> sort_filter(Context& context, const Value& value, const Arguments& given) {
    SWARM_TRY(
        const Binding bound,
        Binding::bind("sort", given, {"reverse", "case_sensitive", "attribute"})
    );
    SWARM_TRY(const Items items, items_of(context, value));
    SWARM_TRY(const Items keys, keys_of(context, items, bound.find(2), bound.is_true(1)));
    SWARM_TRY(Items out, sorted(context, items, keys, bound.is_true(0)));
    return make_list(std::move(out));
}

Result<Value> unique_filter(Context& context, const Value& value, const Arguments& given) {
    SWARM_TRY(const Binding bound, Binding::bind("unique", given, {"case_sensitive", "attribute"}));
    SWARM_TRY(const Items items, items_of(context, value));
    SWARM_TRY(const Items keys, keys_of(context, items, bound.find(1), bound.is_true(0)));
    const auto is_before_key = [](const Value* left, const Value* right) {
        return order_of_keys(*left, *right) < 0;
    };
    std::set<const Value*, decltype(is_before_key)> seen(is_before_key);
    Items out;
    for (std::size_t i = 0; i < items.size(); ++i) {
        SWARM_TRY(context.charge_look_up(keys[i].weight(), items.size()));
        if (!can_be_key(keys[i])) {
            return failure("unhashable type: '" + keys[i].type_name() + "'");
        }
        if (seen.insert(&keys[i]).second) {
            out.push_back(items[i]);
        }
    }
    return make_list(std::move(out), List::Kind::Iterator);
}

template <bool largest>
Result<Value> extreme_filter(Context& context, const Value& value, const Arguments& given) {
    SWARM_TRY(const Binding bound, Binding::bind("min", given, {"case_sensitive", "attribute"}));
    SWARM_TRY(const Items items, items_of(context, value));
    SWARM_TRY(const Items keys, keys_of(context, items, bound.find(1), bound.is_true(0)));
    std::size_t best = 0;
    for (std::size_t i = 1; i < items.size(); ++i) {
        SWARM_TRY(
            const bool better,
            is_before(context, keys[largest ? best : i], keys[largest ? i : best])
        );
        best = better ? i : best;
    }
    return items.empty() ? Value::undefined("No aggregated item, sequence was empty.")
                         : items[best];
}

Result<Value> sum_filter(Context& context, const Value& value, const Arguments& given) {
    SWARM_TRY(const Binding bound, Binding::bind("sum", given, {"attribute", "start"}));
    SWARM_TRY(const Items items, items_of(context, value));
    Value total = bound.find(1) != nullptr ? *bound.find(1) : Value(std::int64_t{0});
    SWARM_TRY(const AttributePath path, read_path(context, bound.find(0)));
    for (const Value& one : items) {
        SWARM_TRY(const Value item, path.follow(context, one));
        SWARM_TRY(total, apply_operator(context, "+", total, item));
    }
    return total;
}

Result<Value> batch_filter(Context& context, const Value& value, const Arguments& given) {
    SWARM_TRY(const Binding bound, Binding::bind("batch", given, {"linecount", "fill_with"}));
    SWARM_TRY(const Items items, items_of(context, value));
    SWARM_TRY(const std::int64_t count, bound.integer(0, 0));
    if (count < 1 || count > static_cast<std::int64_t>(kRangeMax)) {
        return failure("batch wants a size from 1 to " + std::to_string(kRangeMax));
    }
    const auto size = static_cast<std::size_t>(count);
    Items batches;
    for (std::size_t at = 0; at < items.size(); at += size) {
        SWARM_TRY(context.charge(kStepsPerElement));
        Items batch;
        for (std::size_t i = at; i < std::min(at + size, items.size()); ++i) {
            batch.push_back(items[i]);
        }
        if (const Value* const fill = bound.find(1); fill != nullptr && !fill->is_none()) {
            SWARM_TRY(context.charge(size));
            batch.resize(size, *fill);
        }
        SWARM_TRY(Value list, make_list(std::move(batch)));
        batches.push_back(std::move(list));
    }
    return make_list(std::move(batches), List::Kind::Iterator);
}

Result<Value> default_filter(Context&, const Value& value, const Arguments& given) {
    SWARM_TRY(const Binding bound, Binding::bind("default", given, {"default_value", "boolean"}));
    const bool takes = value.is_undefined() || (bound.is_true(1) && !value.is_true());
    return !takes ? value : bound.find(0) != nullptr ? *bound.find(0) : make_text("");
}

Result<Value> attr_filter(Context& context, const Value& value, const Arguments& given) {
    SWARM_TRY(const Binding bound, Binding::bind("attr", given, {"name"}));
    SWARM_TRY(const Text* const name, bound.text(0));
    if (name == nullptr) {
        return failure("attr wants a name");
    }
    // It looks for attributes alone, and a dict's entries are none.
    return value.dict() != nullptr ? Value::undefined("'dict' has no such attribute")
                                   : attribute_of(context, value, name->bytes());
}

}  // namespace

FilterTable sequence_filters() {
    return {
        {"join", join_filter},
        {"first", first_filter},
        {"last", last_filter},
        {"list", list_filter},
        {"reverse", reverse_filter},
        {"map", map_filter},
        {"items", items_filter},
        {"dictsort", dictsort_filter},
        {"sort", sort_filter},
        {"unique", unique_filter},
        {"min", extreme_filter<false>},
        {"max", extreme_filter<true>},
        {"sum", sum_filter},
        {"batch", batch_filter},
    };
}

FilterTable choice_filters() {
    return {
        {"select", select_filter<false, true>},
        {"reject", select_filter<false, false>},
        {"selectattr", select_filter<true, true>},
        {"rejectattr", select_filter<true, false>},
        {"default", default_filter},
        {"d", default_filter},
        {"attr", attr_filter},
    };
}

}  // namespace stacking::tokenizers::jinja
