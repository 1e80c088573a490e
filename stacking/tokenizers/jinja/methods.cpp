#include "stacking/tokenizers/jinja/methods.hpp"

#include "stacking/tokenizers/jinja/arguments.hpp"
#include "stacking/tokenizers/jinja/operators.hpp"
#include "stacking/tokenizers/jinja/printing.hpp"
#include "stacking/tokenizers/jinja/text_search.hpp"
#include "stacking/tokenizers/jinja/text_tools.hpp"
#include "swarm/base/try.hpp"

#include <algorithm>
#include <map>

namespace stacking::tokenizers::jinja {
namespace {

using Bound = BoundArguments;
using TextMethod = Result<Value> (*)(Context&, const Text&, const Arguments&);

/// Makes a list of parts that were cut from a text, and pays for them.
Result<Value> list_of(Context& context, std::vector<Text> texts) {
    SWARM_TRY(context.charge(kStepsPerElement * texts.size()));
    std::vector<Value> values;
    for (Text& text : texts) {
        SWARM_TRY(context.charge(text.weight()));
        values.emplace_back(std::move(text));
    }
    return make_list(std::move(values));
}

Result<> charge_characters(Context& context, const Text& text) {
    return context.charge(1 + text.size() / kCharactersPerStep);
}

/// Pays for a search in `self`, which is paid for.
Result<> charge_search(Context& context, const Text* wanted) {
    return context.charge(wanted == nullptr ? 0 : wanted->size() / kBytesPerStep);
}

template <Sides sides>
Result<Value> strip_method(Context& context, const Text& self, const Arguments& given) {
    SWARM_TRY(const Bound bound, Bound::bind("strip", given, {"chars"}));
    SWARM_TRY(const Text* const any, bound.text(0));
    return paid_strip(context, self, sides, any);
}

template <Text (*map)(const Text&)>
Result<Value> mapping_method(Context& context, const Text& self, const Arguments& given) {
    SWARM_TRY(Bound::bind("this method", given, {}));
    SWARM_TRY(charge_characters(context, self));
    Text image = map(self);
    SWARM_TRY(context.charge_text(0, image));
    return Value(std::move(image));
}

template <std::vector<Text> (*cut)(const Text&, const Text*, std::int64_t)>
Result<Value> split_method(Context& context, const Text& self, const Arguments& given) {
    SWARM_TRY(const Bound bound, Bound::bind("split", given, {"sep", "maxsplit"}));
    SWARM_TRY(const Text* const by, bound.text(0));
    SWARM_TRY(const std::int64_t count, bound.integer(1, -1));
    if (by != nullptr && by->empty()) {
        return failure("empty separator");
    }
    SWARM_TRY(charge_search(context, by));
    SWARM_TRY(charge_characters(context, self));
    return list_of(context, cut(self, by, count));
}

Result<Value> split_lines_method(Context& context, const Text& self, const Arguments& given) {
    SWARM_TRY(const Bound bound, Bound::bind("splitlines", given, {"keepends"}));
    SWARM_TRY(charge_characters(context, self));
    return list_of(context, split_lines(self, bound.is_true(0)));
}

enum class End { Start, Finish };

template <End end>
Result<bool> has_end(Context& context, const Text& self, const Value& wanted) {
    if (wanted.text() == nullptr) {
        return failure("startswith() and endswith() want a text");
    }
    SWARM_TRY(context.charge(wanted.weight()));
    const std::string& bytes = wanted.text()->bytes();
    return end == End::Start ? self.bytes().starts_with(bytes) : self.bytes().ends_with(bytes);
}

template <End end>
Result<Value> ends_method(Context& context, const Text& self, const Arguments& given) {
    SWARM_TRY(const Bound bound, Bound::bind("startswith", given, {"prefix"}));
    SWARM_TRY(const Value wanted, bound.need(0));
    if (wanted.list() == nullptr || wanted.list()->kind != List::Kind::Tuple) {
        SWARM_TRY(const bool has_it, has_end<end>(context, self, wanted));
        return Value(has_it);
    }
    for (const Value& one : wanted.list()->items) {
        SWARM_TRY(const bool has_it, has_end<end>(context, self, one));
        if (has_it) {
            return Value(true);
        }
    }
    return Value(false);
}

Result<Value> replace_method(Context& context, const Text& self, const Arguments& given) {
    SWARM_TRY(const Bound bound, Bound::bind("replace", given, {"old", "new", "count"}));
    SWARM_TRY(const Text* const from, bound.text(0));
    SWARM_TRY(const Text* const to, bound.text(1));
    SWARM_TRY(const std::int64_t count, bound.integer(2, -1));
    if (from == nullptr || to == nullptr) {
        return failure("replace() wants two texts");
    }
    return paid_replace(context, self, *from, *to, count);
}

Result<Value> join_method(Context& context, const Text& self, const Arguments& given) {
    SWARM_TRY(const Bound bound, Bound::bind("join", given, {"iterable"}));
    SWARM_TRY(const Value all, bound.need(0));
    SWARM_TRY(const auto items, elements_of(context, all));
    Text joined;
    for (std::size_t i = 0; i < items->items.size(); ++i) {
        const Text* const item = items->items[i].text();
        if (item == nullptr) {
            return failure("join() wants texts, not '" + items->items[i].type_name() + "'");
        }
        SWARM_TRY(context.charge_text(joined.size(), self));
        if (i > 0) {
            joined.append(self);
        }
        SWARM_TRY(context.charge_text(joined.size(), *item));
        joined.append(*item);
    }
    return Value(std::move(joined));
}

enum class Search { First, Last, FirstOrFail };

template <Search search>
Result<Value> find_method(Context& context, const Text& self, const Arguments& given) {
    SWARM_TRY(const Bound bound, Bound::bind("find", given, {"sub"}));
    SWARM_TRY(const Text* const wanted, bound.text(0));
    if (wanted == nullptr) {
        return failure("find() wants a text");
    }
    SWARM_TRY(charge_search(context, wanted));
    const std::string_view bytes = self.bytes();
    std::size_t at = search == Search::Last ? bytes.size() : 0;  // where an empty one is
    if (!wanted->empty()) {
        const auto from = search == Search::Last ? TextSearch::From::Right : TextSearch::From::Left;
        at = TextSearch(bytes, wanted->bytes(), from).next();
    }
    if (at == TextSearch::kNone) {
        return search == Search::FirstOrFail
                   ? Result<Value>(failure("index(): substring not found"))
                   : Value(std::int64_t{-1});
    }
    return Value::size(count_characters(bytes.substr(0, at)));
}

Result<Value> count_method(Context& context, const Text& self, const Arguments& given) {
    SWARM_TRY(const Bound bound, Bound::bind("count", given, {"sub"}));
    SWARM_TRY(const Text* const wanted, bound.text(0));
    if (wanted == nullptr) {
        return failure("count() wants a text");
    }
    SWARM_TRY(charge_search(context, wanted));
    return Value::size(count_replaced(self, *wanted, -1));
}

template <bool (*is_kind)(char32_t)>
Result<Value> kind_method(Context& context, const Text& self, const Arguments& given) {
    SWARM_TRY(Bound::bind("this method", given, {}));
    SWARM_TRY(charge_characters(context, self));
    const std::string_view bytes = self.bytes();
    for (std::size_t at = 0; at < bytes.size(); at += character_bytes(bytes[at])) {
        if (!is_kind(code_point_at(bytes.substr(at)))) {
            return Value(false);
        }
    }
    return Value(!bytes.empty());
}

bool is_digit_character(char32_t code_point) {
    return code_point >= '0' && code_point <= '9';
}

template <End end>
Result<Value> remove_method(Context&, const Text& self, const Arguments& given) {
    SWARM_TRY(const Bound bound, Bound::bind("removeprefix", given, {"prefix"}));
    SWARM_TRY(const Text* const wanted, bound.text(0));
    if (wanted == nullptr) {
        return failure("removeprefix() and removesuffix() want a text");
    }
    if (end == End::Start) {
        return Value(self.bytes().starts_with(wanted->bytes()) ? self.part(wanted->size()) : self);
    }
    return Value(
        self.bytes().ends_with(wanted->bytes()) ? self.part(0, self.size() - wanted->size()) : self
    );
}

/// "{} {0} {name}".format(..)
Result<Value> format_method(Context& context, const Text& self, const Arguments& given) {
    const std::string& bytes = self.bytes();
    Text out;
    std::size_t automatic = 0;
    for (std::size_t at = 0; at < bytes.size();) {
        const std::size_t brace = std::min(bytes.find_first_of("{}", at), bytes.size());
        out.append(self, at, brace - at);
        at = brace;
        if (at == bytes.size()) {
            break;
        }
        if (at + 1 < bytes.size() && bytes[at + 1] == bytes[at]) {
            out.append(self, at, 1);
            at += 2;
            continue;
        }
        const std::size_t end = bytes.find('}', at);
        if (bytes[at] == '}' || end == std::string::npos) {
            return failure("format(): a single brace");
        }
        const std::string field = bytes.substr(at + 1, end - at - 1);
        if (field.find_first_of(":!.[") != std::string::npos) {
            return unknown_part("format() with a specification is not known here; use '%' for it");
        }
        const bool is_number =
            field.find_first_not_of("0123456789") == std::string::npos && field.size() < 6;
        const Value* value = nullptr;
        if (is_number) {
            const std::size_t place = field.empty() ? automatic++ : std::stoul(field);
            value = place < given.positional.size() ? &given.positional[place] : nullptr;
        }
        SWARM_TRY(context.charge(1 + given.named.size() / 8));
        for (const auto& [name, named] : given.named) {
            value = name == field ? &named : value;
        }
        if (value == nullptr) {
            return failure("format(): there is no value for {" + field.substr(0, 40) + "}");
        }
        SWARM_TRY(const Text text, paid_text(context, *value));
        SWARM_TRY(context.charge_text(out.size(), text));
        out.append(text);
        at = end + 1;
    }
    return Value(std::move(out));
}

const std::map<std::string_view, TextMethod>& text_methods() {
    static const std::map<std::string_view, TextMethod> methods = {
        {"strip", strip_method<Sides::Both>},
        {"lstrip", strip_method<Sides::Left>},
        {"rstrip", strip_method<Sides::Right>},
        {"upper", mapping_method<to_upper>},
        {"lower", mapping_method<to_lower>},
        {"title", mapping_method<to_title>},
        {"capitalize", mapping_method<capitalize>},
        {"split", split_method<split>},
        {"rsplit", split_method<split_from_right>},
        {"splitlines", split_lines_method},
        {"startswith", ends_method<End::Start>},
        {"endswith", ends_method<End::Finish>},
        {"removeprefix", remove_method<End::Start>},
        {"removesuffix", remove_method<End::Finish>},
        {"replace", replace_method},
        {"join", join_method},
        {"find", find_method<Search::First>},
        {"rfind", find_method<Search::Last>},
        {"index", find_method<Search::FirstOrFail>},
        {"count", count_method},
        {"isdigit", kind_method<is_digit_character>},
        {"isspace", kind_method<is_space>},
        {"format", format_method},
    };
    return methods;
}

constexpr std::string_view kListMethods[] = {"index", "count", "copy"};
constexpr std::string_view kListChanges[] = {
    "append", "clear", "pop", "reverse", "insert", "sort", "extend", "remove"};
constexpr std::string_view kDictMethods[] = {"items", "keys", "values", "get", "copy"};
constexpr std::string_view kDictChanges[] = {"clear", "pop", "popitem", "setdefault", "update"};
constexpr std::string_view kLoopMethods[] = {"cycle", "changed"};

template <std::size_t N>
bool is_in(const std::string_view (&names)[N], std::string_view name) {
    return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

Result<Value> call_list_method(
    Context& context, const Value& self, std::string_view name, const Arguments& given
) {
    if (name == "copy") {
        SWARM_TRY(Bound::bind(name, given, {}));
        return self;
    }
    SWARM_TRY(const Bound bound, Bound::bind(name, given, {"value"}));
    SWARM_TRY(const Value wanted, bound.need(0));
    SWARM_TRY(context.charge(self.weight()));
    const auto& items = self.list()->items;
    std::int64_t count = 0;
    for (std::size_t i = 0; i < items.size(); ++i) {
        if (are_equal(items[i], wanted)) {
            if (name == "index") {
                return Value::size(i);
            }
            ++count;
        }
    }
    return name == "index" ? Result<Value>(failure("index(): the value is not in the list"))
                           : Value(count);
}

Result<Value> call_dict_method(
    Context& context, const Value& self, std::string_view name, const Arguments& given
) {
    const Dict& dict = *self.dict();
    if (name == "get") {
        SWARM_TRY(const Bound bound, Bound::bind(name, given, {"key", "default"}));
        SWARM_TRY(const Value key, bound.need(0));
        SWARM_TRY(context.charge_look_up(key.weight(), dict.entries.size()));
        const Value* const found = dict.find(key);
        return found != nullptr           ? *found
               : bound.find(1) != nullptr ? *bound.find(1)
                                          : Value(None{});
    }
    SWARM_TRY(Bound::bind(name, given, {}));
    if (name == "copy") {
        return self;
    }
    SWARM_TRY(context.charge(1 + kStepsPerElement * dict.entries.size()));
    std::vector<Value> items;
    for (const auto& [key, value] : dict.entries) {
        if (name == "items") {
            SWARM_TRY(Value pair, make_list({key, value}, List::Kind::Tuple));
            items.push_back(std::move(pair));
        } else {
            items.push_back(name == "keys" ? key : value);
        }
    }
    return make_list(
        std::move(items),
        name == "items"  ? List::Kind::Items
        : name == "keys" ? List::Kind::Keys
                         : List::Kind::Values
    );
}

Result<Value> call_loop_method(
    Context& context, Loop& loop, std::string_view name, const Arguments& given
) {
    if (given.positional.empty() || !given.named.empty()) {
        return failure("loop." + std::string(name) + "() wants values");
    }
    if (name == "cycle") {
        return given.positional[loop.at % given.positional.size()];
    }
    SWARM_TRY(Value values, make_list(given.positional));
    SWARM_TRY(context.charge(values.weight()));
    const bool changed = !loop.changed || !are_equal(*loop.changed, values);
    loop.changed = std::move(values);
    return Value(changed);
}

}  // namespace

bool has_method(const Value& value, std::string_view name) {
    if (value.text() != nullptr) {
        return text_methods().contains(name);
    }
    if (value.list() != nullptr) {
        return is_in(kListMethods, name) || is_in(kListChanges, name);
    }
    if (value.dict() != nullptr) {
        return is_in(kDictMethods, name) || is_in(kDictChanges, name);
    }
    return value.loop() != nullptr && is_in(kLoopMethods, name);
}

Result<Value> call_method(
    Context& context, const Value& self, std::string_view name, const Arguments& given
) {
    if (self.text() != nullptr) {
        SWARM_TRY(context.charge_text(0, *self.text()));
        return text_methods().at(name)(context, *self.text(), given);
    }
    if ((self.list() != nullptr && is_in(kListChanges, name)) ||
        (self.dict() != nullptr && is_in(kDictChanges, name))) {
        return failure(
            std::string(name) + "() would change a " + self.type_name() +
            ", which a chat template must not"
        );
    }
    if (self.list() != nullptr) {
        return call_list_method(context, self, name, given);
    }
    return self.dict() != nullptr ? call_dict_method(context, self, name, given)
                                  : call_loop_method(context, *self.loop(), name, given);
}

}  // namespace stacking::tokenizers::jinja
