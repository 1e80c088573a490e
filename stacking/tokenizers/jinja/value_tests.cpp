#include "stacking/tokenizers/jinja/value_tests.hpp"

#include "stacking/tokenizers/jinja/filters.hpp"
#include "stacking/tokenizers/jinja/operators.hpp"
#include "stacking/tokenizers/jinja/text_tools.hpp"
#include "swarm/base/try.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <optional>

namespace stacking::tokenizers::jinja {
namespace {

using PlainTest = bool (*)(const Value&);

bool is_sequence(const Value& value) {
    const bool is_list = value.list() != nullptr && value.list()->kind != List::Kind::Iterator;
    return is_list || value.text() != nullptr || value.dict() != nullptr || value.is_undefined();
}

bool is_iterable(const Value& value) {
    return is_sequence(value) || value.list() != nullptr;
}

bool is_own_upper(const Value& value) {
    return value.text() != nullptr && to_upper(*value.text()).bytes() == value.text()->bytes() &&
           to_lower(*value.text()).bytes() != value.text()->bytes();
}

bool is_own_lower(const Value& value) {
    return value.text() != nullptr && to_lower(*value.text()).bytes() == value.text()->bytes() &&
           to_upper(*value.text()).bytes() != value.text()->bytes();
}

bool is_truth(const Value& value, bool truth) {
    return value.boolean() != nullptr && *value.boolean() == truth;
}

const std::map<std::string_view, PlainTest>& plain_tests() {
    static const std::map<std::string_view, PlainTest> tests = {
        {"defined", [](const Value& value) { return !value.is_undefined(); }},
        {"undefined", [](const Value& value) { return value.is_undefined(); }},
        {"none", [](const Value& value) { return value.is_none(); }},
        {"string", [](const Value& value) { return value.text() != nullptr; }},
        {"mapping", [](const Value& value) { return value.dict() != nullptr; }},
        {"sequence", is_sequence},
        {"iterable", is_iterable},
        {"number", [](const Value& value) { return value.as_real().has_value(); }},
        {"integer", [](const Value& value) { return value.integer() != nullptr; }},
        {"float", [](const Value& value) { return value.real() != nullptr; }},
        {"boolean", [](const Value& value) { return value.boolean() != nullptr; }},
        {"true", [](const Value& value) { return is_truth(value, true); }},
        {"false", [](const Value& value) { return is_truth(value, false); }},
        // Undefined has a function that refuses to be called.
        {"callable",
         [](const Value& value) { return value.callable() != nullptr || value.is_undefined(); }},
        {"upper", is_own_upper},
        {"lower", is_own_lower},
        {"escaped", [](const Value&) { return false; }},
    };
    return tests;
}

/// Names of comparisons, and the operators that they mean.
std::string_view comparison_of(std::string_view name) {
    static const std::map<std::string_view, std::string_view> names = {
        {"eq", "=="},
        {"equalto", "=="},
        {"==", "=="},
        {"ne", "!="},
        {"!=", "!="},
        {"lt", "<"},
        {"lessthan", "<"},
        {"<", "<"},
        {"le", "<="},
        {"<=", "<="},
        {"gt", ">"},
        {">", ">"},
        {"greaterthan", ">"},
        {"ge", ">="},
        {">=", ">="},
        {"in", "in"}};
    const auto found = names.find(name);
    return found == names.end() ? std::string_view() : found->second;
}

/// Python's `is`, where it can matter for values that never change.
bool are_same(const Value& left, const Value& right) {
    return left.type_name() == right.type_name() && are_equal(left, right);
}

Result<bool> test_remainder(
    Context& context, const Value& value, const Value& by, std::int64_t rest
) {
    SWARM_TRY(const Value left, apply_operator(context, "%", value, by));
    return are_equal(left, Value(rest));
}

}  // namespace

bool is_test(std::string_view name) {
    return plain_tests().contains(name) || !comparison_of(name).empty() || name == "odd" ||
           name == "even" || name == "divisibleby" || name == "sameas" || name == "filter" ||
           name == "test";
}

Result<bool> apply_test(
    Context& context, std::string_view name, const Value& value, const Arguments& given
) {
    SWARM_TRY(context.charge(
        1 + (value.text() != nullptr ? value.text()->size() / kCharactersPerStep : 0)
    ));
    if (!is_test(name)) {
        return unknown_part("the test '" + std::string(name.substr(0, 40)) + "' is not known here");
    }
    const auto plain = plain_tests().find(name);
    const bool wants_argument = plain == plain_tests().end() && name != "odd" && name != "even" &&
                                name != "filter" && name != "test";
    if (given.positional.size() != (wants_argument ? 1 : 0) || !given.named.empty()) {
        return failure("the test '" + std::string(name) + "' has wrong arguments");
    }
    if (plain != plain_tests().end()) {
        return plain->second(value);
    }
    if (const std::string_view comparison = comparison_of(name); !comparison.empty()) {
        return compare(context, comparison, value, given.positional.front());
    }
    if (name == "odd" || name == "even") {
        return test_remainder(context, value, Value(std::int64_t{2}), name == "odd" ? 1 : 0);
    }
    if (name == "divisibleby") {
        return test_remainder(context, value, given.positional.front(), 0);
    }
    if (name == "sameas") {
        SWARM_TRY(context.charge(std::min(value.weight(), given.positional.front().weight())));
        return are_same(value, given.positional.front());
    }
    if (value.text() == nullptr) {
        return false;
    }
    return name == "filter" ? is_filter(value.text()->bytes()) : is_test(value.text()->bytes());
}

}  // namespace stacking::tokenizers::jinja
