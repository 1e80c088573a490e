#include "stacking/tokenizers/jinja/filters.hpp"

#include "stacking/tokenizers/jinja/arguments.hpp"
#include "stacking/tokenizers/jinja/operators.hpp"
#include "stacking/tokenizers/jinja/printing.hpp"
#include "stacking/tokenizers/jinja/text_tools.hpp"
#include "swarm/base/try.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace stacking::tokenizers::jinja {
namespace {

constexpr std::int64_t kIndentMax = 100;

const FilterTable& all_filters() {
    static const FilterTable table = [] {
        FilterTable all;
        for (const FilterTable& part :
             {text_filters(), number_filters(), sequence_filters(), choice_filters()}) {
            all.insert(part.begin(), part.end());
        }
        return all;
    }();
    return table;
}

/// str(), paid for.
Result<Text> text_of(Context& context, const Value& value) {
    SWARM_TRY(context.charge(value.weight()));
    return to_text(value);
}

template <Text (*map)(const Text&)>
Result<Value> mapping_filter(Context& context, const Value& value, const Arguments& given) {
    SWARM_TRY(BoundArguments::bind("this filter", given, {}));
    SWARM_TRY(const Text text, text_of(context, value));
    SWARM_TRY(context.charge(text.size() / kCharactersPerStep));
    return Value(map(text));
}

Result<Value> trim_filter(Context& context, const Value& value, const Arguments& given) {
    SWARM_TRY(const auto bound, BoundArguments::bind("trim", given, {"chars"}));
    SWARM_TRY(const Text text, text_of(context, value));
    SWARM_TRY(const auto any, bound.text(0));
    return Value(strip(text, Sides::Both, any));
}

Result<Value> replace_filter(Context& context, const Value& value, const Arguments& given) {
    SWARM_TRY(const auto bound, BoundArguments::bind("replace", given, {"old", "new", "count"}));
    SWARM_TRY(const Text text, text_of(context, value));
    SWARM_TRY(const Value old_value, bound.need(0));
    SWARM_TRY(const Value new_value, bound.need(1));
    SWARM_TRY(const Text from, text_of(context, old_value));
    SWARM_TRY(const Text to, text_of(context, new_value));
    const bool everywhere = bound.find(2) == nullptr || bound.find(2)->is_none();
    SWARM_TRY(
        const std::int64_t count, everywhere ? Result<std::int64_t>(-1) : bound.integer(2, -1)
    );
    SWARM_TRY(context.charge_bytes(replaced_bytes(text, from, to)));
    return Value(replace(text, from, to, count));
}

Result<Value> string_filter(Context& context, const Value& value, const Arguments& given) {
    SWARM_TRY(BoundArguments::bind("string", given, {}));
    SWARM_TRY(Text text, text_of(context, value));
    return Value(std::move(text));
}

Result<Value> safe_filter(Context& context, const Value& value, const Arguments& given) {
    return string_filter(context, value, given);
}

Result<Value> escape_filter(Context& context, const Value& value, const Arguments& given) {
    SWARM_TRY(BoundArguments::bind("escape", given, {}));
    SWARM_TRY(Text text, text_of(context, value));
    constexpr std::pair<const char*, const char*> kEscapes[] = {
        {"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}, {"\"", "&#34;"}, {"'", "&#39;"}};
    for (const auto& [from, to] : kEscapes) {
        SWARM_TRY(context.charge_bytes(replaced_bytes(text, Text(from), Text(to))));
        text = replace(text, Text(from), Text(to), -1);
    }
    return Value(std::move(text));
}

Result<Value> indent_filter(Context& context, const Value& value, const Arguments& given) {
    SWARM_TRY(const auto bound, BoundArguments::bind("indent", given, {"width", "first", "blank"}));
    if (value.text() == nullptr) {
        return failure("indent wants a text");
    }
    Text indentation(std::string(4, ' '));
    if (bound.find(0) != nullptr && bound.find(0)->text() != nullptr) {
        indentation = *bound.find(0)->text();
    } else if (bound.find(0) != nullptr) {
        SWARM_TRY(const std::int64_t width, bound.integer(0, 4));
        if (width > kIndentMax) {
            return beyond_bound("indent: a width above " + std::to_string(kIndentMax));
        }
        indentation =
            Text(std::string(static_cast<std::size_t>(std::max<std::int64_t>(width, 0)), ' '));
    }
    Text text = *value.text();
    text.append("\n", Origin::Template);
    SWARM_TRY(context.charge_bytes(text.size()));
    Text out;
    bool first_line = true;
    for (const Text& line : split_lines(text, false)) {
        SWARM_TRY(context.charge_more_bytes(out.size(), line.size() + indentation.size() + 1));
        out.append(first_line ? "" : "\n", Origin::Template);
        if (first_line ? bound.is_true(1) : !line.empty() || bound.is_true(2)) {
            out.append(indentation);
        }
        out.append(line);
        first_line = false;
    }
    return Value(std::move(out));
}

Result<Value> format_filter(Context& context, const Value& value, const Arguments& given) {
    SWARM_TRY(const Text text, text_of(context, value));
    if (given.named.empty()) {
        return format_text(context, text, given.positional, nullptr);
    }
    Dict names;
    for (const auto& [name, named] : given.named) {
        names.entries.emplace_back(make_text(name), named);
    }
    return format_text(context, text, {}, &names);
}

/// Reads tojson's `indent`: an integer, a text or None.
Result<std::optional<std::string>> json_indent(const Value* given) {
    if (given == nullptr || given->is_none()) {
        return std::optional<std::string>();
    }
    if (given->text() != nullptr && given->text()->size() <= kIndentMax) {
        return std::optional(given->text()->bytes());
    }
    const auto width = given->as_integer();
    if (!width || *width > kIndentMax) {
        return failure("tojson: indent is no number from 0 to " + std::to_string(kIndentMax));
    }
    return std::optional(
        std::string(static_cast<std::size_t>(std::max<std::int64_t>(*width, 0)), ' ')
    );
}

Result<Value> json_filter(Context& context, const Value& value, const Arguments& given) {
    SWARM_TRY(
        const auto bound,
        BoundArguments::bind("tojson", given, {"ensure_ascii", "indent", "separators", "sort_keys"})
    );
    JsonStyle style;
    style.ensure_ascii = bound.is_true(0);
    style.sort_keys = bound.is_true(3);
    SWARM_TRY(style.indent, json_indent(bound.find(1)));
    if (style.indent) {
        style.between_items = ",";
    }
    if (const Value* const separators = bound.find(2);
        separators != nullptr && !separators->is_none()) {
        const List* const pair = separators->list();
        if (pair == nullptr || pair->items.size() != 2 || pair->items[0].text() == nullptr ||
            pair->items[1].text() == nullptr || separators->weight() > 8) {
            return failure("tojson: separators are two short texts");
        }
        style.between_items = pair->items[0].text()->bytes();
        style.after_key = pair->items[1].text()->bytes();
    }
    SWARM_TRY(context.charge(value.weight()));
    SWARM_TRY(Text text, to_json(value, style));
    SWARM_TRY(context.charge_bytes(text.size()));
    SWARM_TRY(context.charge(text.size() / kCharactersPerStep));
    return Value(std::move(text));
}

Result<Value> length_filter(Context& context, const Value& value, const Arguments& given) {
    SWARM_TRY(BoundArguments::bind("length", given, {}));
    SWARM_TRY(const std::int64_t length, length_of(context, value));
    return Value(length);
}

Result<Value> int_filter(Context& context, const Value& value, const Arguments& given) {
    SWARM_TRY(const auto bound, BoundArguments::bind("int", given, {"default", "base"}));
    SWARM_TRY(const std::int64_t base, bound.integer(1, 10));
    const Value fallback = bound.find(0) != nullptr ? *bound.find(0) : Value(std::int64_t{0});
    if (const auto number = value.as_integer()) {
        return Value(*number);
    }
    if (value.real() != nullptr) {
        const double number = *value.real();
        return std::abs(number) < 9.2e18 ? Value(static_cast<std::int64_t>(number)) : fallback;
    }
    if (value.text() == nullptr || (base != 10 && base != 16 && base != 8 && base != 2)) {
        return fallback;
    }
    SWARM_TRY(context.charge(value.weight()));
    std::string text = strip(*value.text(), Sides::Both, std::nullopt).bytes();
    const bool negative = text.starts_with('-');
    text.erase(0, negative || text.starts_with('+') ? 1 : 0);
    if (base == 16 && (text.starts_with("0x") || text.starts_with("0X"))) {
        text.erase(0, 2);
    }
    std::erase(text, '_');
    const char* const end = text.data() + text.size();
    std::int64_t number = 0;
    auto read = std::from_chars(text.data(), end, number, static_cast<int>(base));
    if (!text.empty() && text.front() != '-' && read.ec == std::errc() && read.ptr == end) {
        return Value(negative ? -number : number);
    }
    double real = 0;  // int("1.5") falls back to int(float("1.5"))
    read = std::from_chars(text.data(), end, real);
    if (base == 10 && !text.empty() && text.front() != '-' && read.ec == std::errc() &&
        read.ptr == end && std::abs(real) < 9.2e18) {
        return Value(static_cast<std::int64_t>(negative ? -real : real));
    }
    return fallback;
}

Result<Value> float_filter(Context& context, const Value& value, const Arguments& given) {
    SWARM_TRY(const auto bound, BoundArguments::bind("float", given, {"default"}));
    const Value fallback = bound.find(0) != nullptr ? *bound.find(0) : Value(0.0);
    if (const auto number = value.as_real()) {
        return Value(*number);
    }
    if (value.text() == nullptr) {
        return fallback;
    }
    SWARM_TRY(context.charge(value.weight()));
    std::string text = strip(*value.text(), Sides::Both, std::nullopt).bytes();
    text.erase(0, text.starts_with('+') ? 1 : 0);
    double real = 0;
    const auto read = std::from_chars(text.data(), text.data() + text.size(), real);
    return read.ec == std::errc() && read.ptr == text.data() + text.size() && !text.empty()
               ? Value(real)
               : fallback;
}

Result<Value> abs_filter(Context&, const Value& value, const Arguments& given) {
    SWARM_TRY(BoundArguments::bind("abs", given, {}));
    if (const auto number = value.as_integer()) {
        return *number < 0 ? apply_sign("-", value) : Value(*number);
    }
    return value.real() != nullptr ? Result<Value>(std::abs(*value.real()))
                                   : failure("abs wants a number, not '" + value.type_name() + "'");
}

/// Rounds as Python's round(): the nearest decimal number, ties to even where they are exact.
double rounded(double number, int digits) {
    char text[400];
    std::snprintf(text, sizeof text, "%.*f", std::max(digits, 0), number);
    if (digits >= 0) {
        return std::strtod(text, nullptr);
    }
    const double unit = std::pow(10.0, -digits);
    return std::nearbyint(number / unit) * unit;
}

Result<Value> round_filter(Context&, const Value& value, const Arguments& given) {
    SWARM_TRY(const auto bound, BoundArguments::bind("round", given, {"precision", "method"}));
    SWARM_TRY(const std::int64_t precision, bound.integer(0, 0));
    SWARM_TRY(const auto method, bound.text(1));
    const auto number = value.as_real();
    if (!number || std::abs(precision) > 20) {
        return failure("round wants a number, and a precision of at most 20");
    }
    const std::string name = method ? method->bytes() : "common";
    if (name == "common") {
        return value.as_integer() && precision >= 0
                   ? Value(*value.as_integer())
                   : Value(rounded(*number, static_cast<int>(precision)));
    }
    if (name != "ceil" && name != "floor") {
        return failure("round knows the methods common, ceil and floor");
    }
    const double unit = std::pow(10.0, static_cast<double>(precision));
    return Value((name == "ceil" ? std::ceil(*number * unit) : std::floor(*number * unit)) / unit);
}

}  // namespace

FilterTable text_filters() {
    return {
        {"upper", mapping_filter<to_upper>},
        {"lower", mapping_filter<to_lower>},
        {"title", mapping_filter<to_title_by_words>},
        {"capitalize", mapping_filter<capitalize>},
        {"trim", trim_filter},
        {"replace", replace_filter},
        {"string", string_filter},
        {"safe", safe_filter},
        {"escape", escape_filter},
        {"e", escape_filter},
        {"indent", indent_filter},
        {"format", format_filter},
        {"tojson", json_filter},
        {"length", length_filter},
        {"count", length_filter},
    };
}

FilterTable number_filters() {
    return {
        {"int", int_filter}, {"float", float_filter}, {"abs", abs_filter}, {"round", round_filter}};
}

bool is_filter(std::string_view name) {
    return all_filters().contains(name);
}

Result<Value> apply_filter(
    Context& context, std::string_view name, const Value& value, const Arguments& given
) {
    SWARM_TRY(context.charge(1));
    const auto found = all_filters().find(name);
    if (found == all_filters().end()) {
        return unknown_part(
            "the filter '" + std::string(name.substr(0, 40)) + "' is not known here"
        );
    }
    return found->second(context, value, given);
}

}  // namespace stacking::tokenizers::jinja
