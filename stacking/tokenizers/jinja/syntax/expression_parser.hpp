// Expressions of a template: tokens to a tree, by Jinja's grammar.
// Threading: one thread. Errors: Malformed with the line; Unsupported names a part of Jinja that is
// not known here; TooLarge.
#pragma once

#include "stacking/tokenizers/jinja/syntax/syntax.hpp"
#include "stacking/tokenizers/jinja/syntax/token_stream.hpp"

#include <initializer_list>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace stacking::tokenizers::jinja {

class ExpressionParser {
 public:
    enum class Choices { Allowed, None };  // whether `a if b` may stand there

    explicit ExpressionParser(TokenStream& tokens) : tokens_(tokens) {}

    Result<ExpressionPtr> parse(Choices choices = Choices::Allowed);

    /// Reads one expression, or several with commas between them as a tuple.
    Result<ExpressionPtr> parse_tuple(Choices choices = Choices::Allowed);

    /// Reads `|name(arguments)|..` behind a value; null: the text of a block, whose first filter
    /// may stand without its bar.
    Result<ExpressionPtr> parse_filters(ExpressionPtr value, bool begins_bare);

    /// Reads `(..)` into the arguments of a call, a filter or a test.
    Result<> parse_arguments(Expression& of);

    /// Names that the expressions have used, to see what a macro refers to.
    [[nodiscard]] bool has_used(const std::string& name) const { return used_.contains(name); }

    std::set<std::string> swap_used(std::set<std::string> names) {
        return std::exchange(used_, std::move(names));
    }

 private:
    using Kind = Expression::Kind;
    using Parse = Result<ExpressionPtr> (ExpressionParser::*)();

    Result<ExpressionPtr> parse_or();
    Result<ExpressionPtr> parse_and();
    Result<ExpressionPtr> parse_not();
    Result<ExpressionPtr> parse_comparison();
    Result<ExpressionPtr> parse_sum();
    Result<ExpressionPtr> parse_joined();
    Result<ExpressionPtr> parse_product();
    Result<ExpressionPtr> parse_power();
    Result<ExpressionPtr> parse_unary();
    Result<ExpressionPtr> parse_signed(bool with_filters);
    Result<ExpressionPtr> parse_primary();
    Result<ExpressionPtr> parse_name();
    Result<ExpressionPtr> parse_parenthesis();
    Result<ExpressionPtr> parse_list();
    Result<ExpressionPtr> parse_dict();
    Result<ExpressionPtr> parse_number();
    Result<ExpressionPtr> parse_postfix(ExpressionPtr value);
    Result<ExpressionPtr> parse_tests_and_filters(ExpressionPtr value);
    Result<ExpressionPtr> parse_subscript(ExpressionPtr value);
    Result<ExpressionPtr> parse_test(ExpressionPtr value);
    Result<ExpressionPtr> parse_operators(Parse operand, std::initializer_list<const char*> names);
    [[nodiscard]] bool begins_test_argument() const;
    [[nodiscard]] bool ends_tuple() const;

    [[nodiscard]] Error too_deep() const;
    [[nodiscard]] ExpressionPtr make(Expression::Kind kind, std::string name = {}) const;
    /// Adds a part, and refuses a tree that becomes too deep.
    Result<> add(Expression& parent, ExpressionPtr part) const;

    TokenStream& tokens_;
    std::uint32_t under_way_ = 0;  // calls of parse_unary(), one within the other
    std::set<std::string> used_;
};

}  // namespace stacking::tokenizers::jinja
