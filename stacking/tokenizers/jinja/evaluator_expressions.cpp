#include "stacking/tokenizers/jinja/evaluator.hpp"
#include "stacking/tokenizers/jinja/filters.hpp"
#include "stacking/tokenizers/jinja/globals.hpp"
#include "stacking/tokenizers/jinja/methods.hpp"
#include "stacking/tokenizers/jinja/operators.hpp"
#include "stacking/tokenizers/jinja/printing.hpp"
#include "stacking/tokenizers/jinja/value_tests.hpp"
#include "swarm/base/try.hpp"

#include <array>

namespace stacking::tokenizers::jinja {

Result<Value> Evaluator::evaluate(const Expression& expression) {
    using Kind = Expression::Kind;
    const Depth depth(depth_);
    if (depth_ > kEvaluationDepthMax) {
        return beyond_bound("nested deeper than " + std::to_string(kEvaluationDepthMax));
    }
    line_ = expression.line;
    SWARM_TRY(context_.charge(1));
    switch (expression.kind) {
        case Kind::Constant:
            return expression.value;
        case Kind::Name:
            return evaluate_name(expression);
        case Kind::List:
        case Kind::Tuple:
            return evaluate_list(expression);
        case Kind::Dict:
            return evaluate_dict(expression);
        case Kind::Attribute:
        case Kind::Item:
            return evaluate_access(expression);
        case Kind::Slice:
            return evaluate_slice(expression);
        case Kind::Call:
            return evaluate_call(expression);
        case Kind::Filter:
            return evaluate_filter(expression);
        case Kind::Test:
            return evaluate_test(expression);
        case Kind::Choice: {
            SWARM_TRY(const Value condition, evaluate(*expression.parts[0]));
            if (condition.is_true()) {
                return evaluate(*expression.parts[1]);
            }
            return expression.parts[2] != nullptr
                       ? evaluate(*expression.parts[2])
                       : Value::undefined("an inline if without else was false");
        }
        case Kind::Unary:
        case Kind::Binary:
            return evaluate_operator(expression);
        case Kind::Comparison:
            return evaluate_comparison(expression);
        case Kind::Joined:
            return evaluate_joined(expression);
    }
    return Value();
}

Result<const Value*> Evaluator::find_variable(const std::string& name) {
    SWARM_TRY(context_.charge(scope_->depth / kScopesPerStep + name.size() / kBytesPerStep));
    return scope_->find(name);
}

Result<Value> Evaluator::evaluate_name(const Expression& expression) {
    SWARM_TRY(const Value* const value, find_variable(expression.name));
    if (value != nullptr) {
        return *value;
    }
    if (auto global = find_global(expression.name)) {
        return *std::move(global);
    }
    return Value::undefined("'" + expression.name + "' is undefined");
}

Result<Value> Evaluator::evaluate_list(const Expression& expression) {
    std::vector<Value> items;
    for (const ExpressionPtr& part : expression.parts) {
        SWARM_TRY(Value item, evaluate(*part));
        items.push_back(std::move(item));
    }
    const bool is_tuple = expression.kind == Expression::Kind::Tuple;
    return make_list(std::move(items), is_tuple ? List::Kind::Tuple : List::Kind::List);
}

Result<Value> Evaluator::evaluate_dict(const Expression& expression) {
    std::vector<Dict::Entry> entries;
    for (std::size_t i = 0; i + 1 < expression.parts.size(); i += 2) {
        SWARM_TRY(Value key, evaluate(*expression.parts[i]));
        SWARM_TRY(Value value, evaluate(*expression.parts[i + 1]));
        entries.emplace_back(std::move(key), std::move(value));
    }
    SWARM_TRY(context_.charge_keys(entries));
    return make_dict(std::move(entries));
}

Result<Value> Evaluator::evaluate_access(const Expression& expression) {
    SWARM_TRY(const Value value, evaluate(*expression.parts[0]));
    if (expression.kind == Expression::Kind::Attribute) {
        line_ = expression.line;
        return attribute_of(context_, value, expression.name);
    }
    SWARM_TRY(const Value key, evaluate(*expression.parts[1]));
    line_ = expression.line;
    return item_of(context_, value, key);
}

Result<Value> Evaluator::evaluate_slice(const Expression& expression) {
    SWARM_TRY(const Value value, evaluate(*expression.parts[0]));
    std::array<Value, 3> bounds;
    std::array<const Value*, 3> given{};
    for (std::size_t i = 0; i < 3; ++i) {
        if (expression.parts[i + 1] != nullptr) {
            SWARM_TRY(bounds[i], evaluate(*expression.parts[i + 1]));
            given[i] = &bounds[i];
        }
    }
    line_ = expression.line;
    return slice_of(context_, value, given[0], given[1], given[2]);
}

Result<Arguments> Evaluator::evaluate_arguments(const ArgumentList& list) {
    Arguments arguments;
    for (const ExpressionPtr& part : list.positional) {
        SWARM_TRY(Value value, evaluate(*part));
        arguments.positional.push_back(std::move(value));
    }
    for (const auto& [name, part] : list.named) {
        SWARM_TRY(Value value, evaluate(*part));
        arguments.named.emplace_back(name, std::move(value));
    }
    return arguments;
}

Result<Value> Evaluator::evaluate_filter(const Expression& expression) {
    Value value;
    if (expression.parts[0] != nullptr) {
        SWARM_TRY(value, evaluate(*expression.parts[0]));
    } else {
        value = block_texts_.back();
    }
    SWARM_TRY(const Arguments arguments, evaluate_arguments(expression.arguments));
    line_ = expression.line;
    return apply_filter(context_, expression.name, value, arguments);
}

Result<Value> Evaluator::evaluate_test(const Expression& expression) {
    SWARM_TRY(const Value value, evaluate(*expression.parts[0]));
    SWARM_TRY(const Arguments arguments, evaluate_arguments(expression.arguments));
    line_ = expression.line;
    SWARM_TRY(const bool holds, apply_test(context_, expression.name, value, arguments));
    return Value(holds);
}

Result<Value> Evaluator::evaluate_operator(const Expression& expression) {
    SWARM_TRY(Value left, evaluate(*expression.parts[0]));
    const std::string& name = expression.name;
    if (name == "not") {
        return Value(!left.is_true());
    }
    if (expression.kind == Expression::Kind::Unary) {
        line_ = expression.line;
        return apply_sign(name, left);
    }
    if (name == "and" || name == "or") {
        return left.is_true() == (name == "or") ? Result<Value>(std::move(left))
                                                : evaluate(*expression.parts[1]);
    }
    SWARM_TRY(const Value right, evaluate(*expression.parts[1]));
    line_ = expression.line;
    return apply_operator(context_, name, left, right);
}

Result<Value> Evaluator::evaluate_comparison(const Expression& expression) {
    SWARM_TRY(Value left, evaluate(*expression.parts[0]));
    for (std::size_t i = 0; i < expression.names.size(); ++i) {
        SWARM_TRY(Value right, evaluate(*expression.parts[i + 1]));
        line_ = expression.line;
        SWARM_TRY(const bool holds, compare(context_, expression.names[i], left, right));
        if (!holds) {
            return Value(false);
        }
        left = std::move(right);
    }
    return Value(true);
}

Result<Value> Evaluator::evaluate_joined(const Expression& expression) {
    Text joined;
    for (const ExpressionPtr& part : expression.parts) {
        SWARM_TRY(const Value value, evaluate(*part));
        line_ = expression.line;
        SWARM_TRY(print(value, joined));
    }
    return Value(std::move(joined));
}

Result<Value> Evaluator::evaluate_call(const Expression& expression, const Value* caller) {
    SWARM_TRY(const Value function, evaluate(*expression.parts[0]));
    SWARM_TRY(const Arguments arguments, evaluate_arguments(expression.arguments));
    line_ = expression.line;
    return call(function, arguments, caller);
}

Result<Value> Evaluator::call(const Value& function, const Arguments& given, const Value* caller) {
    if (function.is_undefined()) {
        return failure(undefined_message(function));
    }
    const Callable* const callable = function.callable();
    if (callable == nullptr) {
        return failure("a '" + function.type_name() + "' cannot be called");
    }
    switch (callable->kind) {
        case Callable::Kind::Macro:
            return call_macro(*callable, given, caller);
        case Callable::Kind::Method:
            return call_method(context_, callable->self, callable->name, given);
        case Callable::Kind::Global:
            return call_global(context_, *callable, given);
    }
    return Value();
}

}  // namespace stacking::tokenizers::jinja
