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

namespace stacking::tokenizers::jinja {
namespace {

using Binding = BoundArguments;
using Items = std::vector<Value>;

Result<Items> items_of(Context& context, const Value& value) {
    SWARM_TRY(const auto list, elements_of(context, value));
    SWARM_TRY(context.charge(1 + list->items.size()));
    return list->items;
}

/// Returns item["a"]["b"] for the attribute "a.b"; numbers are places.
Result<Value> attribute_at(
    Context& context, Value item, const Value& attribute, const Value* fallback = nullptr
) {
    if (attribute.as_integer()) {
        return item_of(context, item, attribute);
    }
    if (attribute.text() == nullptr) {
        return failure("an attribute wants a name");
    }
    for (const Text& part : split(*attribute.text(), Text("."), -1)) {
        const std::string& bytes = part.bytes();
        std::int64_t place = 0;
        const auto read = std::from_chars(bytes.data(), bytes.data() + bytes.size(), place);
        const bool is_place = read.ec == std::errc() && read.ptr == bytes.data() + bytes.size();
        SWARM_TRY(item, item_of(context, item, is_place ? Value(place) : Value(part)));
        if (fallback != nullptr && item.is_undefined()) {
            item = *fallback;
        }
    }
    return item;
}

/// Gives texts in lower case, unless case counts.
Value sort_key(Value value, bool case_sensitive) {
    return value.text() != nullptr && !case_sensitive ? Value(to_lower(*value.text())) : value;
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
        if (!error) {
            if (auto paid = context.charge(std::min(first.weight(), second.weight())); !paid) {
                error = paid.error();
            }
        }
        if (error) {
            return false;
        }
        const Result<bool> less = is_less(first, second);
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
    SWARM_TRY(const Text between, bound.find(0) == nullptr ? Text() : to_text(*bound.find(0)));
    Text joined;
    for (std::size_t i = 0; i < items.size(); ++i) {
        Value item = items[i];
        if (const Value* const attribute = bound.find(1)) {
            SWARM_TRY(item, attribute_at(context, item, *attribute));
        }
        SWARM_TRY(context.charge(item.weight()));
        SWARM_TRY(const Text text, to_text(item));
        SWARM_TRY(context.charge_more_bytes(joined.size(), between.size() + text.size()));
        if (i > 0) {
            joined.append(between);
        }
        joined.append(text);
    }
    return Value(std::move(joined));
}

Result<Value> first_filter(Context& context, const Value& value, const Arguments& given) {
    SWARM_TRY(Binding::bind("first", given, {}));
    SWARM_TRY(const Items items, items_of(context, value));
    return items.empty() ? Value::undefined("No first item, sequence was empty.") : items.front();
}

Result<Value> last_filter(Context& context, const Value& value, const Arguments& given) {
    SWARM_TRY(Binding::bind("last", given, {}));
    SWARM_TRY(const Items items, items_of(context, value));
    return items.empty() ? Value::undefined("No last item, sequence was empty.") : items.back();
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
    std::optional<Value> attribute;
    std::optional<Value> fallback;
    if (given.positional.empty()) {
        SWARM_TRY(const Binding bound, Binding::bind("map", given, {"attribute", "default"}));
        SWARM_TRY(attribute, bound.need(0));
        fallback = bound.find(1) != nullptr ? std::optional(*bound.find(1)) : std::nullopt;
    } else if (given.positional.front().text() == nullptr) {
        return failure("map wants the name of a filter");
    } else {
        rest.positional.erase(rest.positional.begin());
    }
    Items out;
    for (const Value& item : items) {
        if (attribute) {
            SWARM_TRY(
                Value mapped,
                attribute_at(context, item, *attribute, fallback ? &*fallback : nullptr)
            );
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
    const Value attribute = by_attribute ? rest.positional.front() : Value();
    rest.positional.erase(
        rest.positional.begin(), rest.positional.begin() + (by_attribute ? 1 : 0)
    );
    std::string test;
    if (!rest.positional.empty()) {
        if (rest.positional.front().text() == nullptr) {
            return failure("select and reject want the name of a test");
        }
        test = rest.positional.front().text()->bytes();
        rest.positional.erase(rest.positional.begin());
    }
    Items out;
    for (const Value& item : items) {
        Value judged = item;
        if (by_attribute) {
            SWARM_TRY(judged, attribute_at(context, item, attribute));
        }
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
        SWARM_TRY(context.charge(2 * value.dict()->entries.size()));
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
    SWARM_TRY(const auto by, bound.text(1));
    if (value.dict() == nullptr || (by && by->bytes() != "key" && by->bytes() != "value")) {
        return failure("dictsort wants a dict, and by='key' or by='value'");
    }
    Items pairs;
    Items keys;
    for (const auto& [key, entry] : value.dict()->entries) {
        SWARM_TRY(Value pair, make_list({key, entry}, List::Kind::Tuple));
        pairs.push_back(std::move(pair));
        keys.push_back(sort_key(by && by->bytes() == "value" ? entry : key, bound.is_true(0)));
    }
    SWARM_TRY(context.charge(2 * value.weight()));
    SWARM_TRY(Items out, sorted(context, pairs, keys, bound.is_true(2)));
    return make_list(std::move(out));
}

/// Returns the keys by which items are sorted or compared.
Result<Items> keys_of(
    Context& context, const Items& items, const Value* attribute, bool case_sensitive
) {
    Items keys;
    for (const Value& item : items) {
        SWARM_TRY(context.charge(item.text() != nullptr ? item.weight() : 1));
        Value key = item;
        if (attribute != nullptr && !attribute->is_none()) {
            SWARM_TRY(key, attribute_at(context, item, *attribute));
        }
        keys.push_back(sort_key(std::move(key), case_sensitive));
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
    Items out;
    Items seen;
    for (std::size_t i = 0; i < items.size(); ++i) {
        SWARM_TRY(context.charge((1 + seen.size()) * keys[i].weight()));
        if (std::none_of(seen.begin(), seen.end(), [&](const Value& key) {
                return are_equal(key, keys[i]);
            })) {
            seen.push_back(keys[i]);
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
            const bool better, largest ? is_less(keys[best], keys[i]) : is_less(keys[i], keys[best])
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
    for (Value item : items) {
        if (bound.find(0) != nullptr && !bound.find(0)->is_none()) {
            SWARM_TRY(item, attribute_at(context, item, *bound.find(0)));
        }
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
    SWARM_TRY(const auto name, bound.text(0));
    if (!name) {
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
