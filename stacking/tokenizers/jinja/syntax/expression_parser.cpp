#include "stacking/tokenizers/jinja/syntax/expression_parser.hpp"

#include "stacking/tokenizers/jinja/limits.hpp"
#include "swarm/base/try.hpp"

#include <algorithm>
#include <array>

namespace stacking::tokenizers::jinja {

namespace {

constexpr std::array<std::string_view, 6> kComparisons = {"==", "!=", "<", "<=", ">", ">="};

}  // namespace

Error ExpressionParser::too_deep() const {
    return beyond_bound(
        "line " + std::to_string(tokens_.line()) + ": nested deeper than " +
        std::to_string(kNestingMax)
    );
}

ExpressionPtr ExpressionParser::make(Expression::Kind kind, std::string name) const {
    auto expression = std::make_unique<Expression>();
    expression->kind = kind;
    expression->line = tokens_.line();
    expression->name = std::move(name);
    return expression;
}

Result<> ExpressionParser::add(Expression& parent, ExpressionPtr part) const {
    if (part != nullptr) {
        parent.depth = std::max(parent.depth, part->depth + 1);
    }
    parent.parts.push_back(std::move(part));
    return parent.depth > kNestingMax ? Result<>(too_deep()) : Result<>();
}

Result<ExpressionPtr> ExpressionParser::parse(Choices choices) {
    SWARM_TRY(ExpressionPtr value, parse_or());
    while (choices == Choices::Allowed && tokens_.is_name("if")) {
        ExpressionPtr choice = make(Kind::Choice);
        tokens_.take();
        SWARM_TRY(ExpressionPtr condition, parse_or());
        SWARM_TRY(add(*choice, std::move(condition)));
        SWARM_TRY(add(*choice, std::move(value)));
        ExpressionPtr other;
        if (tokens_.take_name("else")) {
            if (++under_way_ > kNestingMax) {
                return too_deep();
            }
            SWARM_TRY(other, parse());
            --under_way_;
        }
        SWARM_TRY(add(*choice, std::move(other)));
        value = std::move(choice);
    }
    return value;
}

bool ExpressionParser::ends_tuple() const {
    return tokens_.is(Token::Kind::PrintEnd) || tokens_.is(Token::Kind::BlockEnd) ||
           tokens_.is(Token::Kind::End) || tokens_.is_operator(")");
}

Result<ExpressionPtr> ExpressionParser::parse_tuple(Choices choices) {
    ExpressionPtr tuple = make(Kind::Tuple);
    if (ends_tuple()) {
        return tokens_.wanted("an expression");
    }
    SWARM_TRY(ExpressionPtr first, parse(choices));
    if (!tokens_.is_operator(",")) {
        return first;
    }
    SWARM_TRY(add(*tuple, std::move(first)));
    while (tokens_.take_operator(",") && !ends_tuple()) {
        SWARM_TRY(ExpressionPtr next, parse(choices));
        SWARM_TRY(add(*tuple, std::move(next)));
    }
    return tuple;
}

Result<ExpressionPtr> ExpressionParser::parse_operators(
    Parse operand, std::initializer_list<const char*> names
) {
    SWARM_TRY(ExpressionPtr left, (this->*operand)());
    const auto is_one = [&](const char* name) {
        return tokens_.is_operator(name) ||
               (tokens_.is(Token::Kind::Name) && tokens_.is_name(name));
    };
    while (std::any_of(names.begin(), names.end(), is_one)) {
        ExpressionPtr both = make(Kind::Binary, tokens_.now().text);
        tokens_.take();
        SWARM_TRY(ExpressionPtr right, (this->*operand)());
        SWARM_TRY(add(*both, std::move(left)));
        SWARM_TRY(add(*both, std::move(right)));
        left = std::move(both);
    }
    return left;
}

Result<ExpressionPtr> ExpressionParser::parse_or() {
    return parse_operators(&ExpressionParser::parse_and, {"or"});
}

Result<ExpressionPtr> ExpressionParser::parse_and() {
    return parse_operators(&ExpressionParser::parse_not, {"and"});
}

Result<ExpressionPtr> ExpressionParser::parse_not() {
    if (!tokens_.is_name("not")) {
        return parse_comparison();
    }
    if (++under_way_ > kNestingMax) {
        return too_deep();
    }
    ExpressionPtr negated = make(Kind::Unary, "not");
    tokens_.take();
    SWARM_TRY(ExpressionPtr value, parse_not());
    SWARM_TRY(add(*negated, std::move(value)));
    --under_way_;
    return negated;
}

Result<ExpressionPtr> ExpressionParser::parse_comparison() {
    ExpressionPtr chain = make(Kind::Comparison);
    SWARM_TRY(ExpressionPtr first, parse_sum());
    SWARM_TRY(add(*chain, std::move(first)));
    while (true) {
        std::string name;
        if (tokens_.is(Token::Kind::Operator) &&
            std::find(kComparisons.begin(), kComparisons.end(), tokens_.now().text) !=
                kComparisons.end()) {
            name = tokens_.take().text;
        } else if (tokens_.take_name("in")) {
            name = "in";
        } else if (tokens_.is_name("not") && tokens_.after().kind == Token::Kind::Name &&
                   tokens_.after().text == "in") {
            tokens_.take();
            tokens_.take();
            name = "not in";
        } else {
            break;
        }
        SWARM_TRY(ExpressionPtr next, parse_sum());
        SWARM_TRY(add(*chain, std::move(next)));
        chain->names.push_back(std::move(name));
    }
    return chain->names.empty() ? std::move(chain->parts.front()) : std::move(chain);
}

Result<ExpressionPtr> ExpressionParser::parse_sum() {
    return parse_operators(&ExpressionParser::parse_joined, {"+", "-"});
}

Result<ExpressionPtr> ExpressionParser::parse_joined() {
    ExpressionPtr joined = make(Kind::Joined);
    SWARM_TRY(ExpressionPtr first, parse_product());
    SWARM_TRY(add(*joined, std::move(first)));
    while (tokens_.take_operator("~")) {
        SWARM_TRY(ExpressionPtr next, parse_product());
        SWARM_TRY(add(*joined, std::move(next)));
    }
    return joined->parts.size() == 1 ? std::move(joined->parts.front()) : std::move(joined);
}

Result<ExpressionPtr> ExpressionParser::parse_product() {
    return parse_operators(&ExpressionParser::parse_power, {"*", "/", "//", "%"});
}

Result<ExpressionPtr> ExpressionParser::parse_power() {
    return parse_operators(&ExpressionParser::parse_unary, {"**"});
}

Result<ExpressionPtr> ExpressionParser::parse_unary() {
    return parse_signed(true);
}

Result<ExpressionPtr> ExpressionParser::parse_signed(bool with_filters) {
    if (++under_way_ > kNestingMax) {
        return too_deep();
    }
    ExpressionPtr value;
    if (tokens_.is_operator("-") || tokens_.is_operator("+")) {
        value = make(Kind::Unary, tokens_.now().text);
        tokens_.take();
        SWARM_TRY(ExpressionPtr inner, parse_signed(false));
        SWARM_TRY(add(*value, std::move(inner)));
    } else {
        SWARM_TRY(value, parse_primary());
    }
    SWARM_TRY(value, parse_postfix(std::move(value)));
    if (with_filters) {
        SWARM_TRY(value, parse_tests_and_filters(std::move(value)));
    }
    --under_way_;
    return value;
}

Result<ExpressionPtr> ExpressionParser::parse_postfix(ExpressionPtr value) {
    while (tokens_.is_operator(".") || tokens_.is_operator("[") || tokens_.is_operator("(")) {
        if (!tokens_.is_operator("(")) {
            SWARM_TRY(value, parse_subscript(std::move(value)));
            continue;
        }
        ExpressionPtr call = make(Kind::Call);
        SWARM_TRY(parse_arguments(*call));
        SWARM_TRY(add(*call, std::move(value)));
        value = std::move(call);
    }
    return value;
}

Result<ExpressionPtr> ExpressionParser::parse_tests_and_filters(ExpressionPtr value) {
    while (true) {
        if (tokens_.is_operator("|")) {
            SWARM_TRY(value, parse_filters(std::move(value), false));
        } else if (tokens_.is_name("is")) {
            SWARM_TRY(value, parse_test(std::move(value)));
        } else if (tokens_.is_operator("(")) {
            SWARM_TRY(value, parse_postfix(std::move(value)));
        } else {
            return value;
        }
    }
}

Result<ExpressionPtr> ExpressionParser::parse_filters(ExpressionPtr value, bool begins_bare) {
    while (std::exchange(begins_bare, false) || tokens_.take_operator("|")) {
        ExpressionPtr filter = make(Kind::Filter);
        SWARM_TRY(filter->name, tokens_.expect_name());
        if (tokens_.is_operator("(")) {
            SWARM_TRY(parse_arguments(*filter));
        }
        SWARM_TRY(add(*filter, std::move(value)));
        value = std::move(filter);
    }
    return value;
}

bool ExpressionParser::begins_test_argument() const {
    const Token& token = tokens_.now();
    switch (token.kind) {
        case Token::Kind::Name:
            return token.text != "else" && token.text != "or" && token.text != "and" &&
                   token.text != "is" && token.text != "if" && token.text != "not" &&
                   token.text != "in";
        case Token::Kind::Text:
        case Token::Kind::Integer:
        case Token::Kind::Real:
            return true;
        case Token::Kind::Operator:
            return token.text == "[" || token.text == "{";
        default:
            return false;
    }
}

Result<ExpressionPtr> ExpressionParser::parse_test(ExpressionPtr value) {
    ExpressionPtr test = make(Kind::Test);
    tokens_.take();
    const bool negated = tokens_.take_name("not");
    SWARM_TRY(test->name, tokens_.expect_name());
    if (tokens_.is_operator("(")) {
        SWARM_TRY(parse_arguments(*test));
    } else if (begins_test_argument()) {
        SWARM_TRY(ExpressionPtr argument, parse_primary());
        SWARM_TRY(argument, parse_postfix(std::move(argument)));
        test->depth = std::max(test->depth, argument->depth + 1);
        test->arguments.positional.push_back(std::move(argument));
    }
    SWARM_TRY(add(*test, std::move(value)));
    if (!negated) {
        return test;
    }
    ExpressionPtr opposite = make(Kind::Unary, "not");
    SWARM_TRY(add(*opposite, std::move(test)));
    return opposite;
}

}  // namespace stacking::tokenizers::jinja
