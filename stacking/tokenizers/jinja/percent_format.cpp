// text % values, for the conversions s r d i f g e x X and %.
#include "stacking/tokenizers/jinja/operators.hpp"
#include "stacking/tokenizers/jinja/printing.hpp"
#include "swarm/base/try.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace stacking::tokenizers::jinja {
namespace {

constexpr std::uint64_t kNumberSteps = 16;  // Cost of a number in a format

/// "%-10.3f" in parts.
struct Conversion {
    std::string name{};  // "%(name)s"
    std::string flags{};
    std::size_t width = 0;
    std::optional<std::size_t> precision{};
    char type = 's';
};

Result<std::size_t> read_width(const std::string& format, std::size_t& at) {
    std::size_t width = 0;
    for (; at < format.size() && format[at] >= '0' && format[at] <= '9'; ++at) {
        width = width * 10 + static_cast<std::size_t>(format[at] - '0');
        if (width > kFieldWidthMax) {
            return beyond_bound("a width in a format above " + std::to_string(kFieldWidthMax));
        }
    }
    return width;
}

/// Reads a conversion behind its %, and moves `at` behind it.
Result<Conversion> read_conversion(const std::string& format, std::size_t& at) {
    Conversion conversion;
    if (at < format.size() && format[at] == '(') {
        const std::size_t end = std::min(format.find(')', at), format.size());
        conversion.name = format.substr(at + 1, end - at - 1);
        at = std::min(end + 1, format.size());
    }
    while (at < format.size() && std::string_view("-+ 0#").find(format[at]) != std::string::npos) {
        conversion.flags += format[at++];
        if (conversion.flags.size() > kFieldWidthMax) {
            return failure("a format with too many flags");
        }
    }
    SWARM_TRY(conversion.width, read_width(format, at));
    if (at < format.size() && format[at] == '.') {
        ++at;
        SWARM_TRY(conversion.precision, read_width(format, at));
    }
    if (at == format.size()) {
        return failure("a format ends within a conversion");
    }
    conversion.type = format[at++];
    return conversion;
}

Result<Text> number_text(const Conversion& conversion, const Value& value) {
    const bool is_whole = std::string_view("dixX").find(conversion.type) != std::string::npos;
    const auto real = value.as_real();
    if (!real || (is_whole && !std::isfinite(*real))) {
        return failure(std::string("%") + conversion.type + " wants a number");
    }
    char text[kFieldWidthMax + 400];
    if (is_whole) {
        if (!value.as_integer() && std::abs(*real) >= 9.2e18) {
            return failure("an integer has over 64 bits");
        }
        const std::int64_t number = value.as_integer().value_or(static_cast<std::int64_t>(*real));
        const auto size = number < 0 ? 0 - static_cast<unsigned long long>(number)
                                     : static_cast<unsigned long long>(number);
        const bool hex = conversion.type == 'x' || conversion.type == 'X';
        std::snprintf(
            text,
            sizeof text,
            !hex                     ? "%llu"
            : conversion.type == 'x' ? "%llx"
                                     : "%llX",
            size
        );
        const std::string sign = number < 0                                        ? "-"
                                 : conversion.flags.find('+') != std::string::npos ? "+"
                                 : conversion.flags.find(' ') != std::string::npos ? " "
                                                                                   : "";
        return Text(sign + text);
    }
    std::string pattern = "%";
    for (const char flag : {'+', ' ', '#'}) {
        if (conversion.flags.find(flag) != std::string::npos) {
            pattern += flag;
        }
    }
    pattern += ".*";
    pattern += conversion.type;
    std::snprintf(
        text,
        sizeof text,
        pattern.c_str(),
        static_cast<int>(conversion.precision.value_or(6)),
        *real
    );
    return Text(text);
}

Result<Text> converted(Context& context, const Conversion& conversion, const Value& value) {
    switch (conversion.type) {
        case 's':
        case 'r': {
            SWARM_TRY(
                Text text,
                conversion.type == 's' ? paid_text(context, value) : paid_repr(context, value)
            );
            return conversion.precision
                       ? text.part(0, bytes_of_characters(text.bytes(), *conversion.precision))
                       : text;
        }
        case 'd':
        case 'i':
        case 'x':
        case 'X':
        case 'f':
        case 'F':
        case 'e':
        case 'g':
            // Digits of a float are made from its exact value, and one that is large has hundreds.
            SWARM_TRY(context.charge(kNumberSteps + conversion.precision.value_or(0)));
            return number_text(conversion, value);
        default:
            return unknown_part(
                std::string("the conversion %") + conversion.type + " is not known here"
            );
    }
}

Text padded(const Conversion& conversion, const Text& text) {
    const std::size_t length = count_characters(text.bytes());
    if (length >= conversion.width) {
        return text;
    }
    const std::size_t missing = conversion.width - length;
    const bool left = conversion.flags.find('-') != std::string::npos;
    const bool zeros = !left && conversion.flags.find('0') != std::string::npos &&
                       conversion.type != 's' && conversion.type != 'r';
    const Text fill(std::string(missing, zeros ? '0' : ' '));
    const bool has_sign = zeros && text.bytes().find_first_of("+- ") == 0;
    Text out = left ? text : text.part(0, has_sign ? 1 : 0);
    out.append(fill);
    if (!left) {
        out.append(text, has_sign ? 1 : 0, text.size());
    }
    return out;
}

}  // namespace

Result<Value> format_text(
    Context& context, const Text& format, std::span<const Value> values, const Dict* names
) {
    const std::string& bytes = format.bytes();
    SWARM_TRY(context.charge_text(0, format));
    Text out;
    std::size_t used = 0;
    for (std::size_t at = 0; at < bytes.size();) {
        const std::size_t percent = std::min(bytes.find('%', at), bytes.size());
        out.append(format, at, percent - at);
        at = percent + 1;
        if (percent == bytes.size()) {
            break;
        }
        if (at < bytes.size() && bytes[at] == '%') {
            out.append(format, at++, 1);
            continue;
        }
        SWARM_TRY(const Conversion conversion, read_conversion(bytes, at));
        const Value* value = nullptr;
        if (!conversion.name.empty()) {
            const std::size_t count = names == nullptr ? 0 : names->entries.size();
            SWARM_TRY(context.charge_look_up(1 + conversion.name.size() / kBytesPerStep, count));
            value = names == nullptr ? nullptr : names->find(conversion.name);
        } else if (used < values.size()) {
            value = &values[used++];
        }
        if (value == nullptr) {
            return failure("not enough values for a format");
        }
        SWARM_TRY(const Text text, converted(context, conversion, *value));
        SWARM_TRY(context.charge_text(out.size() + conversion.width, text));
        SWARM_TRY(context.charge_bytes(conversion.width));
        out.append(padded(conversion, text));
    }
    if (used < values.size() && names == nullptr) {
        return failure("too many values for a format");
    }
    return Value(std::move(out));
}

}  // namespace stacking::tokenizers::jinja
