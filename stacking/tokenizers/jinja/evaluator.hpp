// Runs the tree of a template: one rendering.
// Invariant: a template sees its data and nothing else. There is no file, no network, no clock but
// the time that the caller gives, no attribute of a host's object. Bounds: limits.hpp.
// Threading: one thread. Errors: those of failure.hpp; line() says where.
#pragma once

#include "stacking/tokenizers/jinja/context.hpp"
#include "stacking/tokenizers/jinja/scope.hpp"
#include "stacking/tokenizers/jinja/syntax/syntax.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace stacking::tokenizers::jinja {

class Evaluator {
 public:
    /// The tree outlives this object.
    Evaluator(const Body& body, std::int64_t now_s) : body_(body), context_(now_s) {}

    /// Sets a variable that the template sees.
    void set(std::string_view name, Value value) { globals_.set(name, std::move(value)); }

    Result<Text> render();

    /// The line that was at work last.
    [[nodiscard]] std::uint32_t line() const { return line_; }

 private:
    enum class Flow { Next, Break, Continue };

    class Depth;
    class InnerScope;

    Result<Flow> run(const Body& body, Text& out);
    Result<Flow> run(const Statement& statement, Text& out);
    Result<> print(const Value& value, Text& out);
    Result<Flow> run_if(const Statement& statement, Text& out);
    Result<Flow> run_for(const Statement& statement, Text& out);
    /// Returns whether a turn came to its end, neither broken nor continued. If none did, Jinja
    /// runs the else of the loop.
    Result<bool> run_loop(const Statement& statement, Loop& loop, Text& out);
    Result<std::shared_ptr<const List>> filtered(
        const Statement& statement, const std::shared_ptr<const List>& items
    );
    Result<Flow> run_set_block(const Statement& statement);
    Result<Flow> run_filter(const Statement& statement, Text& out);
    Result<Flow> run_block(const Statement& statement, Text& out);
    Result<Flow> run_with(const Statement& statement, Text& out);
    Result<Flow> run_call(const Statement& statement, Text& out);
    Result<> assign(const Target& target, Value value);

    Result<Value> evaluate(const Expression& expression);
    Result<Value> evaluate_name(const Expression& expression);
    Result<Value> evaluate_list(const Expression& expression);
    Result<Value> evaluate_dict(const Expression& expression);
    Result<Value> evaluate_access(const Expression& expression);
    Result<Value> evaluate_slice(const Expression& expression);
    Result<Value> evaluate_filter(const Expression& expression);
    Result<Value> evaluate_test(const Expression& expression);
    Result<Value> evaluate_operator(const Expression& expression);
    Result<Value> evaluate_comparison(const Expression& expression);
    Result<Value> evaluate_joined(const Expression& expression);
    Result<Value> evaluate_call(const Expression& expression, const Value* caller = nullptr);
    Result<Value> apply_filters(const Expression* filters, Text text);
    Result<Arguments> evaluate_arguments(const ArgumentList& list);
    Result<Value> call(const Value& function, const Arguments& given, const Value* caller);
    Result<Value> call_macro(const Callable& callable, const Arguments& given, const Value* caller);
    Result<> bind_macro(const MacroStatement& macro, const Arguments& given, const Value* caller);
    /// Sets a parameter that no place gives, and takes its argument out of `named`.
    Result<> bind_parameter(
        const MacroStatement::Parameter& parameter, std::map<std::string_view, const Value*>& named
    );
    Result<Value> make_macro(const MacroStatement& macro);
    /// Looks a variable up, paid for; null: there is none.
    Result<const Value*> find_variable(const std::string& name);

    const Body& body_;
    Context context_;
    Scope globals_;
    Scope* scope_ = &globals_;
    std::vector<std::unique_ptr<Scope>> kept_;  // captured scopes that have ended
    std::vector<Value> block_texts_;            // texts that filters of blocks are applied to
    std::uint32_t depth_ = 0;
    std::uint32_t macro_depth_ = 0;
    std::uint32_t line_ = 0;
};

/// Counts what is under way while it lives.
class Evaluator::Depth {
 public:
    explicit Depth(std::uint32_t& depth) : depth_(depth) { ++depth_; }

    ~Depth() { --depth_; }

    Depth(const Depth&) = delete;
    Depth& operator=(const Depth&) = delete;

 private:
    std::uint32_t& depth_;
};

/// A scope within the present one, or within another.
class Evaluator::InnerScope {
 public:
    explicit InnerScope(Evaluator& evaluator) : InnerScope(evaluator, evaluator.scope_) {}

    InnerScope(Evaluator& evaluator, Scope* outer)
        : evaluator_(evaluator), before_(evaluator.scope_), own_(std::make_unique<Scope>()) {
        own_->outer = outer;
        own_->depth = outer->depth + 1;
        evaluator_.scope_ = own_.get();
    }

    ~InnerScope() {
        evaluator_.scope_ = before_;
        if (own_->captured) {
            evaluator_.kept_.push_back(std::move(own_));
        }
    }

    InnerScope(const InnerScope&) = delete;
    InnerScope& operator=(const InnerScope&) = delete;

 private:
    Evaluator& evaluator_;
    Scope* before_;
    std::unique_ptr<Scope> own_;
};

}  // namespace stacking::tokenizers::jinja
