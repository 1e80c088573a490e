// The filter `round`, which rounds as Python does: the exact value of a number, ties to even.
#include "stacking/tokenizers/jinja/arguments.hpp"
#include "stacking/tokenizers/jinja/filters.hpp"
#include "swarm/base/try.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace stacking::tokenizers::jinja {
namespace {

constexpr std::int64_t kDigitsMax = 323;     // A double changes at no decimal place further right.
constexpr std::int64_t kExactPowerMax = 22;  // Largest power of ten that a double holds
constexpr std::int64_t kUnsignedPowerMax = 19;  // Largest power of ten of 64 bits

/// Rounds to a multiple of 10 ** places, for `places` > 0.
Result<Value> rounded_whole(std::int64_t number, std::int64_t places) {
    if (places > kUnsignedPowerMax) {
        return Value(std::int64_t{0});  // no half of such a power has 64 bits
    }
    std::uint64_t unit = 1;
    for (std::int64_t i = 0; i < places; ++i) {
        unit *= 10;
    }
    const std::uint64_t size =
        number < 0 ? 0 - static_cast<std::uint64_t>(number) : static_cast<std::uint64_t>(number);
    const std::uint64_t rest = size % unit;
    const bool odd = size / unit % 2 == 1;
    const bool up = rest > unit - rest || (rest == unit - rest && odd);
    const std::uint64_t nearest = size - rest + (up ? unit : 0);
    const std::uint64_t most = (std::uint64_t{1} << 63U) - (number < 0 ? 0 : 1);
    if (nearest > most) {
        return failure("an integer has over 64 bits");
    }
    return Value(static_cast<std::int64_t>(number < 0 ? 0 - nearest : nearest));
}

/// Rounds the digits before the point to a multiple of 10 ** places, for `places` > 0.
Result<double> rounded_tens(double number, std::size_t places) {
    char text[400];
    std::snprintf(text, sizeof text, "%.0f", std::trunc(std::abs(number)));
    std::string digits = text;
    if (digits.size() < places) {
        return std::copysign(0.0, number);
    }
    const std::size_t kept = digits.size() - places;
    const bool has_fraction = std::trunc(number) != number;
    const bool more = has_fraction || digits.find_first_not_of('0', kept + 1) != std::string::npos;
    const bool odd = kept > 0 && (digits[kept - 1] - '0') % 2 == 1;
    const bool up = digits[kept] > '5' || (digits[kept] == '5' && (more || odd));
    std::fill(digits.begin() + static_cast<std::ptrdiff_t>(kept), digits.end(), '0');
    if (up) {
        std::size_t at = kept;
        while (at > 0 && digits[at - 1] == '9') {
            digits[--at] = '0';
        }
        if (at > 0) {
            ++digits[at - 1];
        } else {
            digits.insert(digits.begin(), '1');
        }
    }
    const double nearest = std::strtod(digits.c_str(), nullptr);
    return std::isinf(nearest) ? Result<double>(failure("the rounded value is too large"))
                               : std::copysign(nearest, number);
}

Result<Value> rounded(double number, std::int64_t precision) {
    if (!std::isfinite(number) || precision > kDigitsMax) {
        return Value(number);
    }
    if (precision < 0) {
        const std::int64_t places = -std::max(precision, -kDigitsMax);
        SWARM_TRY(const double nearest, rounded_tens(number, static_cast<std::size_t>(places)));
        return Value(nearest);
    }
    char text[700];  // 309 digits, a point, kDigitsMax digits
    std::snprintf(text, sizeof text, "%.*f", static_cast<int>(precision), number);
    return Value(std::strtod(text, nullptr));
}

enum class Way { Up, Down };

/// ceil(value * 10 ** precision) / 10 ** precision, or floor().
Result<Value> rounded_to(Way way, const Value& value, std::int64_t precision) {
    const double number = *value.as_real();
    if (value.as_integer() && precision >= 0) {
        return Value(number);
    }
    if (precision > kExactPowerMax) {
        return failure("round wants a precision of at most " + std::to_string(kExactPowerMax));
    }
    const double unit = std::pow(10.0, static_cast<double>(std::max(precision, -2 * kDigitsMax)));
    const double scaled = number * unit;
    if (unit == 0 || !std::isfinite(scaled)) {
        return failure("the number is too large to round, or the precision too small");
    }
    return Value((way == Way::Up ? std::ceil(scaled) : std::floor(scaled)) / unit);
}

}  // namespace

Result<Value> round_filter(Context&, const Value& value, const Arguments& given) {
    SWARM_TRY(const auto bound, BoundArguments::bind("round", given, {"precision", "method"}));
    SWARM_TRY(const std::int64_t precision, bound.integer(0, 0));
    SWARM_TRY(const Text* const method, bound.text(1));
    const std::string name = method != nullptr ? method->bytes().substr(0, 8) : "common";
    if (!value.as_real()) {
        return failure("round wants a number, not '" + value.type_name() + "'");
    }
    if (name == "common") {
        const auto whole = value.as_integer();
        if (!whole) {
            return rounded(*value.real(), precision);
        }
        return precision >= 0 ? Value(*whole)
                              : rounded_whole(*whole, -std::max(precision, -kDigitsMax));
    }
    if (name != "ceil" && name != "floor") {
        return failure("round knows the methods common, ceil and floor");
    }
    return rounded_to(name == "ceil" ? Way::Up : Way::Down, value, precision);
}

}  // namespace stacking::tokenizers::jinja
