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

template <Text (*map)(const Text&)>
Result<Value> mapping_filter(Context& context, const Value& value, const Arguments& given) {
    SWARM_TRY(BoundArguments::bind("this filter", given, {}));
    SWARM_TRY(const Text text, paid_text(context, value));
    SWARM_TRY(context.charge(text.size() / kCharactersPerStep));
    Text image = map(text);
    SWARM_TRY(context.charge_text(0, image));
    return Value(std::move(image));
}

Result<Value> trim_filter(Context& context, const Value& value, const Arguments& given) {
    SWARM_TRY(const auto bound, BoundArguments::bind("trim", given, {"chars"}));
    SWARM_TRY(const Text text, paid_text(context, value));
    SWARM_TRY(const Text* const any, bound.text(0));
    return paid_strip(context, text, Sides::Both, any);
}

Result<Value> replace_filter(Context& context, const Value& value, const Arguments& given) {
    SWARM_TRY(const auto bound, BoundArguments::bind("replace", given, {"old", "new", "count"}));
    SWARM_TRY(const Text text, paid_text(context, value));
    SWARM_TRY(const Value old_value, bound.need(0));
    SWARM_TRY(const Value new_value, bound.need(1));
    SWARM_TRY(const Text from, paid_text(context, old_value));
    SWARM_TRY(const Text to, paid_text(context, new_value));
    const bool everywhere = bound.find(2) == nullptr || bound.find(2)->is_none();
    SWARM_TRY(
        const std::int64_t count, everywhere ? Result<std::int64_t>(-1) : bound.integer(2, -1)
    );
    return paid_replace(context, text, from, to, count);
}

Result<Value> string_filter(Context& context, const Value& value, const Arguments& given) {
    SWARM_TRY(BoundArguments::bind("string", given, {}));
    SWARM_TRY(Text text, paid_text(context, value));
    return Value(std::move(text));
}

Result<Value> safe_filter(Context& context, const Value& value, const Arguments& given) {
    return string_filter(context, value, given);
}

Result<Value> escape_filter(Context& context, const Value& value, const Arguments& given) {
    SWARM_TRY(BoundArguments::bind("escape", given, {}));
    SWARM_TRY(Value escaped, string_filter(context, value, {}));
    constexpr std::pair<const char*, const char*> kEscapes[] = {
        {"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}, {"\"", "&#34;"}, {"'", "&#39;"}};
    for (const auto& [from, to] : kEscapes) {
        SWARM_TRY(escaped, paid_replace(context, *escaped.text(), Text(from), Text(to), -1));
    }
    return escaped;
}

Result<Value> indent_filter(Context& context, const Value& value, const Arguments& given) {
    SWARM_TRY(const auto bound, BoundArguments::bind("indent", given, {"width", "first", "blank"}));
    if (value.text() == nullptr) {
        return failure("indent wants a text");
    }
    Text indentation(std::string(4, ' '));
    if (bound.find(0) != nullptr && bound.find(0)->text() != nullptr) {
        SWARM_TRY(context.charge_text(0, *bound.find(0)->text()));
        indentation = *bound.find(0)->text();
    } else if (bound.find(0) != nullptr) {
        SWARM_TRY(const std::int64_t width, bound.integer(0, 4));
        if (width > kIndentMax) {
            return beyond_bound("indent: a width above " + std::to_string(kIndentMax));
        }
        indentation =
            Text(std::string(static_cast<std::size_t>(std::max<std::int64_t>(width, 0)), ' '));
    }
    SWARM_TRY(context.charge_text(0, *value.text()));
    SWARM_TRY(context.charge(value.text()->size() / kCharactersPerStep));
    Text text = *value.text();
    text.append("\n", Origin::Template);
    const std::vector<Text> lines = split_lines(text, false);
    SWARM_TRY(context.charge(kStepsPerElement * lines.size()));
    if (lines.size() > kElementsMax) {
        return beyond_bound("indent: more than " + std::to_string(kElementsMax) + " lines");
    }
    Text out;
    bool first_line = true;
    for (const Text& line : lines) {
        SWARM_TRY(context.charge(line.weight()));
        SWARM_TRY(context.charge_text(out.size() + line.size() + 1, indentation));
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
    SWARM_TRY(const Text text, paid_text(context, value));
    if (given.named.empty()) {
        return format_text(context, text, given.positional, nullptr);
    }
    std::vector<Dict::Entry> entries;
    for (const auto& [name, named] : given.named) {
        entries.emplace_back(make_text(name), named);
    }
    SWARM_TRY(context.charge_keys(entries));
    SWARM_TRY(const Value names, make_dict(std::move(entries)));
    return format_text(context, text, {}, names.dict());
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
    SWARM_TRY(context.charge_text(0, text));
    SWARM_TRY(context.charge(text.size() / kCharactersPerStep));
    return Value(std::move(text));
}

Result<Value> length_filter(Context& context, const Value& value, const Arguments& given) {
    SWARM_TRY(BoundArguments::bind("length", given, {}));
    SWARM_TRY(const std::int64_t length, length_of(context, value));
    return Value(length);
}

/// int() of a float. Errors: it has over 64 bits.
Result<Value> whole_part(double number) {
    constexpr double kBeyond = 9223372036854775808.0;  // 2 ** 63
    return number >= -kBeyond && number < kBeyond ? Result<Value>(static_cast<std::int64_t>(number))
                                                  : failure("an integer has over 64 bits");
}

/// int() of digits, or else int(float()) of them, as Jinja tries both.
Result<Value> read_integer(const Text& given, int base, const Value& fallback) {
    std::string text = strip(given, Sides::Both, nullptr).bytes();
    const bool negative = text.starts_with('-');
    text.erase(0, negative || text.starts_with('+') ? 1 : 0);
    if (text.starts_with('-') || text.starts_with('+')) {
        return fallback;
    }
    std::string digits = text;
    if (base == 16 && (digits.starts_with("0x") || digits.starts_with("0X"))) {
        digits.erase(0, 2);
    }
    std::erase(digits, '_');
    digits.insert(0, negative ? "-" : "");
    const char* const end = digits.data() + digits.size();
    std::int64_t number = 0;
    if (const auto read = std::from_chars(digits.data(), end, number, base); read.ptr == end) {
        if (read.ec == std::errc()) {
            return Value(number);
        }
        if (read.ec == std::errc::result_out_of_range) {
            return failure("an integer has over 64 bits");
        }
    }
    double real = 0;
    const auto read = std::from_chars(text.data(), text.data() + text.size(), real);
    if (read.ec != std::errc() || read.ptr != text.data() + text.size() || !std::isfinite(real)) {
        return fallback;
    }
    return whole_part(negative ? -real : real);
}

Result<Value> int_filter(Context& context, const Value& value, const Arguments& given) {
    SWARM_TRY(const auto bound, BoundArguments::bind("int", given, {"default", "base"}));
    SWARM_TRY(const std::int64_t base, bound.integer(1, 10));
    const Value fallback = bound.find(0) != nullptr ? *bound.find(0) : Value(std::int64_t{0});
    if (const auto number = value.as_integer()) {
        return Value(*number);
    }
    if (value.real() != nullptr) {
        return std::isnan(*value.real()) ? Result<Value>(fallback) : whole_part(*value.real());
    }
    if (value.text() == nullptr) {
        return fallback;
    }
    if (base < 2 || base > 36) {
        return failure("int: a base from 2 to 36");
    }
    SWARM_TRY(context.charge(value.weight() + value.text()->size() / kCharactersPerStep));
    return read_integer(*value.text(), static_cast<int>(base), fallback);
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
    SWARM_TRY(context.charge(value.weight() + value.text()->size() / kCharactersPerStep));
    std::string text = strip(*value.text(), Sides::Both, nullptr).bytes();
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
