#include "stacking/tokenizers/jinja/syntax/expression_parser.hpp"
#include "swarm/base/try.hpp"

#include <algorithm>
#include <charconv>

namespace stacking::tokenizers::jinja {

Result<ExpressionPtr> ExpressionParser::parse_primary() {
    switch (tokens_.now().kind) {
        case Token::Kind::Name:
            return parse_name();
        case Token::Kind::Text: {
            ExpressionPtr text = make(Kind::Constant);
            std::string joined;
            while (tokens_.is(Token::Kind::Text)) {
                joined += tokens_.take().text;
            }
            text->value = make_text(joined);
            return text;
        }
        case Token::Kind::Integer:
        case Token::Kind::Real:
            return parse_number();
        case Token::Kind::Operator:
            if (tokens_.is_operator("(")) {
                return parse_parenthesis();
            }
            if (tokens_.is_operator("[")) {
                return parse_list();
            }
            if (tokens_.is_operator("{")) {
                return parse_dict();
            }
            break;
        default:
            break;
    }
    return tokens_.wanted("an expression");
}

Result<ExpressionPtr> ExpressionParser::parse_name() {
    ExpressionPtr name = make(Kind::Name, tokens_.now().text);
    tokens_.take();
    const std::string& word = name->name;
    if (word == "true" || word == "True" || word == "false" || word == "False") {
        name->kind = Kind::Constant;
        name->value = word.back() == 'e' && (word.front() == 't' || word.front() == 'T');
    } else if (word == "none" || word == "None") {
        name->kind = Kind::Constant;
        name->value = None{};
    } else {
        used_.insert(word);
    }
    return name;
}

Result<ExpressionPtr> ExpressionParser::parse_number() {
    ExpressionPtr number = make(Kind::Constant);
    const Token& token = tokens_.take();
    const char* const end = token.text.data() + token.text.size();
    if (token.kind == Token::Kind::Integer) {
        std::int64_t value = 0;
        if (std::from_chars(token.text.data(), end, value).ec != std::errc()) {
            return tokens_.at_line("the number " + token.text.substr(0, 40) + " has over 64 bits");
        }
        number->value = value;
    } else {
        double value = 0;
        if (std::from_chars(token.text.data(), end, value).ec != std::errc()) {
            return tokens_.at_line("the number " + token.text.substr(0, 40) + " has no double");
        }
        number->value = value;
    }
    return number;
}

Result<ExpressionPtr> ExpressionParser::parse_parenthesis() {
    tokens_.take();
    ExpressionPtr value = make(Kind::Tuple);
    if (!tokens_.is_operator(")")) {
        SWARM_TRY(value, parse_tuple());
    }
    SWARM_TRY(tokens_.expect_operator(")"));
    return value;
}

Result<ExpressionPtr> ExpressionParser::parse_list() {
    ExpressionPtr list = make(Kind::List);
    tokens_.take();
    while (!tokens_.is_operator("]")) {
        SWARM_TRY(ExpressionPtr item, parse());
        SWARM_TRY(add(*list, std::move(item)));
        if (!tokens_.take_operator(",")) {
            break;
        }
    }
    SWARM_TRY(tokens_.expect_operator("]"));
    return list;
}

Result<ExpressionPtr> ExpressionParser::parse_dict() {
    ExpressionPtr dict = make(Kind::Dict);
    tokens_.take();
    while (!tokens_.is_operator("}")) {
        SWARM_TRY(ExpressionPtr key, parse());
        SWARM_TRY(tokens_.expect_operator(":"));
        SWARM_TRY(ExpressionPtr value, parse());
        SWARM_TRY(add(*dict, std::move(key)));
        SWARM_TRY(add(*dict, std::move(value)));
        if (!tokens_.take_operator(",")) {
            break;
        }
    }
    SWARM_TRY(tokens_.expect_operator("}"));
    return dict;
}

Result<ExpressionPtr> ExpressionParser::parse_subscript(ExpressionPtr value) {
    if (tokens_.take_operator(".")) {
        const bool is_number = tokens_.is(Token::Kind::Integer);
        ExpressionPtr part = make(is_number ? Kind::Item : Kind::Attribute);
        SWARM_TRY(add(*part, std::move(value)));
        if (is_number) {
            SWARM_TRY(ExpressionPtr number, parse_number());
            SWARM_TRY(add(*part, std::move(number)));
        } else {
            SWARM_TRY(part->name, tokens_.expect_name());
        }
        return part;
    }
    ExpressionPtr part = make(Kind::Item);
    SWARM_TRY(add(*part, std::move(value)));
    tokens_.take();
    for (int at = 0; at < 3; ++at) {
        ExpressionPtr index;
        if (!tokens_.is_operator(":") && !tokens_.is_operator("]")) {
            SWARM_TRY(index, parse());
        }
        SWARM_TRY(add(*part, std::move(index)));
        if (!tokens_.take_operator(":")) {
            break;
        }
        part->kind = Kind::Slice;
    }
    SWARM_TRY(tokens_.expect_operator("]"));
    if (part->kind == Kind::Item && part->parts[1] == nullptr) {
        return tokens_.wanted("an index");
    }
    part->parts.resize(part->kind == Kind::Item ? 2 : 4);
    return part;
}

Result<> ExpressionParser::parse_arguments(Expression& of) {
    ArgumentList& arguments = of.arguments;
    SWARM_TRY(tokens_.expect_operator("("));
    while (!tokens_.is_operator(")")) {
        if (tokens_.is_operator("*") || tokens_.is_operator("**")) {
            return unknown_part(
                "line " + std::to_string(tokens_.line()) + ": * and ** in a call are not known here"
            );
        }
        const bool is_named = tokens_.is(Token::Kind::Name) &&
                              tokens_.after().kind == Token::Kind::Operator &&
                              tokens_.after().text == "=";
        std::string name;
        if (is_named) {
            name = tokens_.take().text;
            tokens_.take();
        } else if (!arguments.named.empty()) {
            return tokens_.at_line("an argument without a name follows one with a name");
        }
        SWARM_TRY(ExpressionPtr value, parse());
        of.depth = std::max(of.depth, value->depth + 1);
        if (is_named) {
            arguments.named.emplace_back(std::move(name), std::move(value));
        } else {
            arguments.positional.push_back(std::move(value));
        }
        if (!tokens_.take_operator(",")) {
            break;
        }
    }
    return tokens_.expect_operator(")");
}

}  // namespace stacking::tokenizers::jinja
