// The tokens of a template one by one, for the parser.
// Threading: one thread. Errors: Malformed with the line.
#pragma once

#include "stacking/tokenizers/jinja/syntax/lexer.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace stacking::tokenizers::jinja {

class TokenStream {
 public:
    /// REQUIRES: the last token is an End.
    explicit TokenStream(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

    [[nodiscard]] const Token& now() const { return tokens_[at_]; }

    [[nodiscard]] const Token& after() const {
        return tokens_[at_ + 1 < tokens_.size() ? at_ + 1 : at_];
    }

    [[nodiscard]] std::uint32_t line() const { return now().line; }

    [[nodiscard]] bool is(Token::Kind kind) const { return now().kind == kind; }

    [[nodiscard]] bool is_name(std::string_view name) const {
        return is(Token::Kind::Name) && now().text == name;
    }

    [[nodiscard]] bool is_operator(std::string_view name) const {
        return is(Token::Kind::Operator) && now().text == name;
    }

    /// Returns the token and goes on to the next one; an End stays.
    const Token& take() {
        const Token& token = tokens_[at_];
        at_ += token.kind == Token::Kind::End ? 0 : 1;
        return token;
    }

    bool take_name(std::string_view name) { return is_name(name) && (take(), true); }

    bool take_operator(std::string_view name) { return is_operator(name) && (take(), true); }

    Result<> expect_operator(std::string_view name) {
        return take_operator(name) ? Result<>() : wanted("'" + std::string(name) + "'");
    }

    Result<std::string> expect_name() {
        return is(Token::Kind::Name) ? Result<std::string>(take().text) : wanted("a name");
    }

    Result<> expect(Token::Kind kind, const char* what) {
        return is(kind) ? (take(), Result<>()) : wanted(what);
    }

    [[nodiscard]] Error at_line(const std::string& what) const {
        return failure("line " + std::to_string(line()) + ": " + what);
    }

    [[nodiscard]] Error wanted(const std::string& what) const {
        const bool named = is(Token::Kind::Name) || is(Token::Kind::Operator);
        return at_line(
            "expected " + what + (named ? ", not '" + now().text.substr(0, 40) + "'" : "")
        );
    }

 private:
    std::vector<Token> tokens_;
    std::size_t at_ = 0;
};

}  // namespace stacking::tokenizers::jinja
