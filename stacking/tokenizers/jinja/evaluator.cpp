#include "stacking/tokenizers/jinja/evaluator.hpp"

#include "stacking/tokenizers/jinja/operators.hpp"
#include "stacking/tokenizers/jinja/printing.hpp"
#include "swarm/base/try.hpp"

#include <algorithm>
#include <span>

namespace stacking::tokenizers::jinja {

Result<Text> Evaluator::render() {
    // The template's own names stand in a scope of their own: a `set` must not hide a function.
    const InnerScope scope(*this);
    Text out;
    SWARM_TRY(run(body_, out));
    return out;
}

Result<Evaluator::Flow> Evaluator::run(const Body& body, Text& out) {
    for (const auto& statement : body) {
        line_ = statement->line;
        SWARM_TRY(context_.charge(1));
        SWARM_TRY(const Flow flow, run(*statement, out));
        if (flow != Flow::Next) {
            return flow;
        }
    }
    return Flow::Next;
}

Result<Evaluator::Flow> Evaluator::run(const Statement& statement, Text& out) {
    const Depth depth(depth_);
    if (depth_ > kEvaluationDepthMax) {
        return beyond_bound("nested deeper than " + std::to_string(kEvaluationDepthMax));
    }
    switch (statement.kind) {
        case Statement::Kind::Data:
            SWARM_TRY(print(statement.text, out));
            return Flow::Next;
        case Statement::Kind::Print: {
            SWARM_TRY(const Value value, evaluate(*statement.expression));
            line_ = statement.line;
            SWARM_TRY(print(value, out));
            return Flow::Next;
        }
        case Statement::Kind::If:
            return run_if(statement, out);
        case Statement::Kind::For:
            return run_for(statement, out);
        case Statement::Kind::Set: {
            SWARM_TRY(Value value, evaluate(*statement.expression));
            line_ = statement.line;
            SWARM_TRY(assign(statement.target, std::move(value)));
            return Flow::Next;
        }
        case Statement::Kind::SetBlock:
            return run_set_block(statement);
        case Statement::Kind::Filter:
            return run_filter(statement, out);
        case Statement::Kind::Block:
            return run_block(statement, out);
        case Statement::Kind::With:
            return run_with(statement, out);
        case Statement::Kind::Macro: {
            SWARM_TRY(Value macro, make_macro(statement.macro));
            scope_->set(statement.macro.name, std::move(macro));
            return Flow::Next;
        }
        case Statement::Kind::Call:
            return run_call(statement, out);
        case Statement::Kind::Break:
            return Flow::Break;
        case Statement::Kind::Continue:
            return Flow::Continue;
    }
    return Flow::Next;
}

Result<> Evaluator::print(const Value& value, Text& out) {
    if (const Text* const text = value.text()) {
        SWARM_TRY(context_.charge_text(out.size(), *text));
        out.append(*text);
        return {};
    }
    SWARM_TRY(const Text text, paid_text(context_, value));
    SWARM_TRY(context_.charge_text(out.size(), text));
    out.append(text);
    return {};
}

Result<Evaluator::Flow> Evaluator::run_if(const Statement& statement, Text& out) {
    for (const Statement::Branch& branch : statement.branches) {
        SWARM_TRY(const Value condition, evaluate(*branch.condition));
        if (condition.is_true()) {
            return run(branch.body, out);
        }
    }
    return run(statement.else_body, out);
}

Result<std::shared_ptr<const List>> Evaluator::filtered(
    const Statement& statement, const std::shared_ptr<const List>& items
) {
    List kept;
    for (const Value& item : items->items) {
        const InnerScope scope(*this);
        SWARM_TRY(context_.charge(kStepsPerTurn));
        SWARM_TRY(assign(statement.target, item));
        SWARM_TRY(const Value condition, evaluate(*statement.condition));
        if (condition.is_true()) {
            kept.items.push_back(item);
        }
    }
    return std::make_shared<const List>(std::move(kept));
}

Result<Evaluator::Flow> Evaluator::run_for(const Statement& statement, Text& out) {
    SWARM_TRY(const Value all, evaluate(*statement.expression));
    line_ = statement.line;
    SWARM_TRY(std::shared_ptr<const List> items, elements_of(context_, all));
    if (statement.condition != nullptr) {
        SWARM_TRY(items, filtered(statement, items));
    }
    Loop* const loop = context_.make_loop();
    loop->items = std::move(items);
    SWARM_TRY(const bool completed, run_loop(statement, *loop, out));
    if (completed) {
        return Flow::Next;
    }
    const InnerScope scope(*this);
    return run(statement.else_body, out);
}

Result<bool> Evaluator::run_loop(const Statement& statement, Loop& loop, Text& out) {
    bool completed = false;
    for (loop.at = 0; loop.at < loop.items->items.size(); ++loop.at) {
        const InnerScope scope(*this);
        SWARM_TRY(context_.charge(kStepsPerTurn));
        scope_->set("loop", &loop);
        SWARM_TRY(assign(statement.target, loop.items->items[loop.at]));
        SWARM_TRY(const Flow flow, run(statement.body, out));
        if (flow == Flow::Break) {
            break;
        }
        completed = completed || flow == Flow::Next;
    }
    return completed;
}

Result<> Evaluator::assign(const Target& target, Value value) {
    if (!target.attribute.empty()) {
        SWARM_TRY(const Value* const names, find_variable(target.name));
        if (names == nullptr || names->names() == nullptr) {
            return failure("cannot assign attribute on non-namespace object '" + target.name + "'");
        }
        SWARM_TRY(context_.charge_look_up(
            1 + target.attribute.size() / kBytesPerStep, names->names()->names.size()
        ));
        names->names()->set(target.attribute, std::move(value));
        return {};
    }
    if (target.several.empty()) {
        scope_->set(target.name, std::move(value));
        return {};
    }
    SWARM_TRY(const auto parts, elements_of(context_, value));
    if (parts->items.size() != target.several.size()) {
        return failure(
            std::to_string(target.several.size()) + " names for " +
            std::to_string(parts->items.size()) + " values"
        );
    }
    for (std::size_t i = 0; i < parts->items.size(); ++i) {
        SWARM_TRY(assign(target.several[i], parts->items[i]));
    }
    return {};
}

Result<Value> Evaluator::apply_filters(const Expression* filters, Text text) {
    if (filters == nullptr) {
        return Value(std::move(text));
    }
    block_texts_.emplace_back(std::move(text));
    Result<Value> value = evaluate(*filters);
    block_texts_.pop_back();
    return value;
}

Result<Evaluator::Flow> Evaluator::run_set_block(const Statement& statement) {
    Text text;
    Flow flow = Flow::Next;
    {
        const InnerScope scope(*this);
        SWARM_TRY(flow, run(statement.body, text));
    }
    SWARM_TRY(Value value, apply_filters(statement.expression.get(), std::move(text)));
    SWARM_TRY(assign(statement.target, std::move(value)));
    return flow;
}

Result<Evaluator::Flow> Evaluator::run_filter(const Statement& statement, Text& out) {
    const InnerScope scope(*this);
    Text text;
    SWARM_TRY(const Flow flow, run(statement.body, text));
    SWARM_TRY(const Value value, apply_filters(statement.expression.get(), std::move(text)));
    SWARM_TRY(print(value, out));
    return flow;
}

Result<Evaluator::Flow> Evaluator::run_block(const Statement& statement, Text& out) {
    const InnerScope scope(*this);
    return run(statement.body, out);
}

Result<Evaluator::Flow> Evaluator::run_with(const Statement& statement, Text& out) {
    std::vector<Value> values;
    for (const auto& [target, expression] : statement.settings) {
        SWARM_TRY(Value value, evaluate(*expression));
        values.push_back(std::move(value));
    }
    const InnerScope scope(*this);
    for (std::size_t i = 0; i < values.size(); ++i) {
        SWARM_TRY(assign(statement.settings[i].first, values[i]));
    }
    return run(statement.body, out);
}

Result<Evaluator::Flow> Evaluator::run_call(const Statement& statement, Text& out) {
    SWARM_TRY(const Value caller, make_macro(statement.macro));
    SWARM_TRY(const Value value, evaluate_call(*statement.expression, &caller));
    SWARM_TRY(print(value, out));
    return Flow::Next;
}

Result<Value> Evaluator::make_macro(const MacroStatement& macro) {
    SWARM_TRY(context_.charge(kStepsPerElement));
    scope_->capture();
    Callable callable{Callable::Kind::Macro, macro.name, {}, &macro, scope_};
    return Value(std::make_shared<const Callable>(std::move(callable)));
}

Result<Value> Evaluator::call_macro(
    const Callable& callable, const Arguments& given, const Value* caller
) {
    const Depth depth(macro_depth_);
    if (macro_depth_ > kMacroDepthMax) {
        return beyond_bound("macros call each other deeper than " + std::to_string(kMacroDepthMax));
    }
    const InnerScope scope(*this, callable.scope);
    SWARM_TRY(bind_macro(*callable.macro, given, caller));
    Text text;
    SWARM_TRY(run(callable.macro->body, text));
    return Value(std::move(text));
}

Result<> Evaluator::bind_macro(
    const MacroStatement& macro, const Arguments& given, const Value* caller
) {
    const std::size_t parameters = macro.parameters.size();
    const std::size_t places = std::min(parameters, given.positional.size());
    SWARM_TRY(context_.charge(kStepsPerElement * (parameters + given.named.size())));
    std::map<std::string_view, const Value*> named;
    for (const auto& [name, value] : given.named) {
        named[name] = &value;
    }
    for (std::size_t i = 0; i < places; ++i) {
        scope_->set(macro.parameters[i].name, given.positional[i]);
    }
    for (std::size_t i = places; i < parameters; ++i) {
        SWARM_TRY(bind_parameter(macro.parameters[i], named));
    }
    const std::span<const Value> more = std::span(given.positional).subspan(places);
    if ((!more.empty() && !macro.takes_varargs) || (!named.empty() && !macro.takes_kwargs)) {
        return failure("the macro '" + macro.name + "' takes no such argument");
    }
    if (macro.takes_varargs) {
        SWARM_TRY(Value list, make_list({more.begin(), more.end()}, List::Kind::Tuple));
        scope_->set("varargs", std::move(list));
    }
    if (macro.takes_kwargs) {
        std::vector<Dict::Entry> entries;
        for (const auto& [name, value] : given.named) {
            if (named.contains(name)) {
                entries.emplace_back(make_text(name), value);
            }
        }
        SWARM_TRY(context_.charge_keys(entries));
        SWARM_TRY(Value dict, make_dict(std::move(entries)));
        scope_->set("kwargs", std::move(dict));
    }
    if (macro.takes_caller) {
        scope_->set("caller", caller != nullptr ? *caller : Value::undefined("No caller defined"));
    } else if (caller != nullptr) {
        return failure("the macro '" + macro.name + "' takes no caller");
    }
    return {};
}

Result<> Evaluator::bind_parameter(
    const MacroStatement::Parameter& parameter, std::map<std::string_view, const Value*>& named
) {
    if (const auto found = named.find(parameter.name); found != named.end()) {
        scope_->set(parameter.name, *found->second);
        named.erase(found);
        return {};
    }
    if (parameter.fallback != nullptr) {
        SWARM_TRY(Value fallback, evaluate(*parameter.fallback));
        scope_->set(parameter.name, std::move(fallback));
        return {};
    }
    scope_->set(
        parameter.name, Value::undefined("parameter '" + parameter.name + "' was not provided")
    );
    return {};
}

}  // namespace stacking::tokenizers::jinja
