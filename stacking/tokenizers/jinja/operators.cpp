#include "stacking/tokenizers/jinja/operators.hpp"

#include "stacking/tokenizers/jinja/text_search.hpp"
#include "swarm/base/try.hpp"

#include <algorithm>
#include <cmath>

namespace stacking::tokenizers::jinja {
namespace {

Error wrong_types(std::string_view name, const Value& left, const Value& right) {
    for (const Value* const value : {&left, &right}) {
        if (value->is_undefined()) {
            return failure(undefined_message(*value));
        }
    }
    return failure(
        "'" + std::string(name) + "' is not supported between '" + left.type_name() + "' and '" +
        right.type_name() + "'"
    );
}

Error overflow() {
    return failure("an integer has over 64 bits");
}

Error division_by_zero() {
    return failure("division by zero");
}

Result<Value> power_of(std::int64_t base, std::int64_t exponent) {
    if (exponent < 0) {
        return base == 0
                   ? Result<Value>(division_by_zero())
                   : Value(std::pow(static_cast<double>(base), static_cast<double>(exponent)));
    }
    std::int64_t result = 1;
    while (exponent > 0) {
        if (base == 0 || base == 1) {
            return Value(base);
        }
        if (base == -1) {
            return Value(std::int64_t{exponent % 2 == 0 ? 1 : -1} * result);
        }
        if (__builtin_mul_overflow(result, base, &result)) {
            return overflow();
        }
        --exponent;
    }
    return Value(result);
}

Result<Value> combine_integers(std::string_view name, std::int64_t left, std::int64_t right) {
    std::int64_t result = 0;
    bool too_large = false;
    if (name == "+") {
        too_large = __builtin_add_overflow(left, right, &result);
    } else if (name == "-") {
        too_large = __builtin_sub_overflow(left, right, &result);
    } else if (name == "*") {
        too_large = __builtin_mul_overflow(left, right, &result);
    } else if (name == "**") {
        return power_of(left, right);
    } else if (right == 0) {
        return division_by_zero();
    } else if (name == "/") {
        return Value(static_cast<double>(left) / static_cast<double>(right));
    } else if (right == -1) {
        too_large = name == "//" && __builtin_sub_overflow(std::int64_t{0}, left, &result);
    } else {
        const std::int64_t rest = left % right;
        const bool adjusts = rest != 0 && (rest < 0) != (right < 0);
        result = name == "%" ? rest + (adjusts ? right : 0) : left / right - (adjusts ? 1 : 0);
    }
    return too_large ? Result<Value>(overflow()) : Value(result);
}

Result<Value> combine_reals(std::string_view name, double left, double right) {
    if (name == "+") {
        return Value(left + right);
    }
    if (name == "-") {
        return Value(left - right);
    }
    if (name == "*") {
        return Value(left * right);
    }
    if (name == "**") {
        return left == 0 && right < 0 ? Result<Value>(division_by_zero())
                                      : Value(std::pow(left, right));
    }
    if (right == 0) {
        return division_by_zero();
    }
    if (name == "/") {
        return Value(left / right);
    }
    double rest = std::fmod(left, right);
    if (rest != 0 && (rest < 0) != (right < 0)) {
        rest += right;
    }
    return Value(name == "%" ? rest : std::round((left - rest) / right));
}

/// Doubles a text as often as it can, so that a short one costs no append for each time.
Text repeated(const Text& text, std::uint64_t times) {
    Text all;
    Text power = text;
    for (; times > 0; times /= 2) {
        if (times % 2 == 1) {
            all.append(power);
        }
        if (times > 1) {
            const Text half = power;
            power.append(half);
        }
    }
    return all;
}

/// text * count, list * count.
Result<Value> repeat(Context& context, const Value& value, std::int64_t count) {
    const auto times = static_cast<std::uint64_t>(std::max<std::int64_t>(count, 0));
    if (const Text* const text = value.text()) {
        if (text->size() > 0 && times > kTextBytesMax / text->size()) {
            return beyond_bound(
                "a text is longer than " + std::to_string(kTextBytesMax) + " bytes"
            );
        }
        SWARM_TRY(context.charge_bytes(text->size() * times));
        if (const std::size_t runs = text->runs().size(); runs > 1) {
            SWARM_TRY(context.charge(runs * times / kRunsPerStep));
        }
        return Value(repeated(*text, text->empty() ? 0 : times));
    }
    const std::vector<Value>& items = value.list()->items;
    if (!items.empty() && times > kElementsMax / items.size()) {
        return beyond_bound("a list of more than " + std::to_string(kElementsMax) + " elements");
    }
    SWARM_TRY(context.charge(1 + items.size() * times));
    std::vector<Value> all;
    for (std::uint64_t i = 0; i < times && !items.empty(); ++i) {
        all.insert(all.end(), items.begin(), items.end());
    }
    return make_list(std::move(all), value.list()->kind);
}

bool is_list_or_tuple(const Value& value) {
    return value.list() != nullptr &&
           (value.list()->kind == List::Kind::List || value.list()->kind == List::Kind::Tuple);
}

Result<Value> add(Context& context, const Value& left, const Value& right) {
    if (left.text() != nullptr && right.text() != nullptr) {
        SWARM_TRY(context.charge_text(0, *left.text()));
        SWARM_TRY(context.charge_text(left.text()->size(), *right.text()));
        Text both = *left.text();
        both.append(*right.text());
        return Value(std::move(both));
    }
    if (!is_list_or_tuple(left) || !is_list_or_tuple(right) ||
        left.list()->kind != right.list()->kind) {
        return wrong_types("+", left, right);
    }
    const List& other = *right.list();
    SWARM_TRY(context.charge(1 + left.list()->items.size() + other.items.size()));
    std::vector<Value> all = left.list()->items;
    all.insert(all.end(), other.items.begin(), other.items.end());
    return make_list(std::move(all), other.kind);
}

Result<bool> contains(Context& context, const Value& all, const Value& one) {
    if (all.dict() != nullptr) {
        SWARM_TRY(context.charge_look_up(one.weight(), all.dict()->entries.size()));
        return all.dict()->find(one) != nullptr;
    }
    SWARM_TRY(context.charge(all.weight()));
    if (all.text() != nullptr) {
        if (one.text() == nullptr) {
            return failure("'in' a text wants a text, not '" + one.type_name() + "'");
        }
        SWARM_TRY(context.charge(one.weight()));
        return has_part(all.text()->bytes(), one.text()->bytes());
    }
    if (all.list() != nullptr) {
        const auto& items = all.list()->items;
        return std::any_of(items.begin(), items.end(), [&](const Value& item) {
            return are_equal(item, one);
        });
    }
    if (all.is_undefined()) {
        return false;
    }
    return failure("'in' wants something to look in, not '" + all.type_name() + "'");
}

}  // namespace

Result<Value> apply_operator(
    Context& context, std::string_view name, const Value& left, const Value& right
) {
    if (left.as_integer() && right.as_integer()) {
        return combine_integers(name, *left.as_integer(), *right.as_integer());
    }
    if (left.as_real() && right.as_real()) {
        return combine_reals(name, *left.as_real(), *right.as_real());
    }
    if (name == "+") {
        return add(context, left, right);
    }
    if (name == "*") {
        const auto is_repeated = [](const Value& value) {
            return value.text() != nullptr || is_list_or_tuple(value);
        };
        if (is_repeated(left) && right.as_integer()) {
            return repeat(context, left, *right.as_integer());
        }
        if (is_repeated(right) && left.as_integer()) {
            return repeat(context, right, *left.as_integer());
        }
    }
    if (name == "%" && left.text() != nullptr && !right.is_undefined()) {
        const bool is_tuple = right.list() != nullptr && right.list()->kind == List::Kind::Tuple;
        return format_text(
            context,
            *left.text(),
            is_tuple ? std::span<const Value>(right.list()->items) : std::span(&right, 1),
            right.dict()
        );
    }
    return wrong_types(name, left, right);
}

Result<Value> apply_sign(std::string_view name, const Value& value) {
    if (const auto number = value.as_integer()) {
        return combine_integers(name, 0, *number);
    }
    if (const auto number = value.as_real()) {
        return Value(name == "-" ? -*number : *number);
    }
    return value.is_undefined()
               ? failure(undefined_message(value))
               : failure("bad operand for " + std::string(name) + ": '" + value.type_name() + "'");
}

Result<bool> compare(
    Context& context, std::string_view name, const Value& left, const Value& right
) {
    if (name == "in" || name == "not in") {
        SWARM_TRY(const bool is_in, contains(context, right, left));
        return is_in == (name == "in");
    }
    SWARM_TRY(context.charge(std::min(left.weight(), right.weight())));
    if (name == "==" || name == "!=") {
        return are_equal(left, right) == (name == "==");
    }
    SWARM_TRY(const std::partial_ordering order, order_of(left, right));
    return name == "<"    ? order < 0
           : name == "<=" ? order <= 0
           : name == ">"  ? order > 0
                          : order >= 0;
}

Result<std::shared_ptr<const List>> elements_of(Context& context, const Value& value) {
    if (value.list() != nullptr) {
        return value.shared_list();
    }
    List list;
    if (value.dict() != nullptr) {
        SWARM_TRY(context.charge(1 + value.dict()->entries.size()));
        for (const auto& [key, entry] : value.dict()->entries) {
            list.items.push_back(key);
        }
    } else if (const Text* const text = value.text()) {
        SWARM_TRY(context.charge(value.weight()));
        const std::size_t count = count_characters(text->bytes());
        SWARM_TRY(context.charge(kStepsPerElement * count));
        if (count >= kElementsMax) {
            return beyond_bound("a text with too many characters to go through");
        }
        const auto starts = character_starts(text->bytes());
        for (std::size_t i = 0; i + 1 < starts.size(); ++i) {
            list.items.emplace_back(text->part(starts[i], starts[i + 1] - starts[i]));
        }
    } else if (!value.is_undefined()) {
        return failure("'" + value.type_name() + "' has no elements to go through");
    }
    return std::make_shared<const List>(std::move(list));
}

Result<std::int64_t> length_of(Context& context, const Value& value) {
    if (value.text() != nullptr) {
        SWARM_TRY(context.charge(value.weight()));
        return static_cast<std::int64_t>(count_characters(value.text()->bytes()));
    }
    if (value.list() != nullptr) {
        return static_cast<std::int64_t>(value.list()->items.size());
    }
    if (value.dict() != nullptr) {
        return static_cast<std::int64_t>(value.dict()->entries.size());
    }
    if (value.is_undefined()) {
        return std::int64_t{0};
    }
    return failure("'" + value.type_name() + "' has no length");
}

}  // namespace stacking::tokenizers::jinja
