#include "stacking/tokenizers/jinja/syntax/parser.hpp"

#include "stacking/tokenizers/jinja/limits.hpp"
#include "stacking/tokenizers/jinja/syntax/expression_parser.hpp"
#include "stacking/tokenizers/jinja/syntax/lexer.hpp"
#include "swarm/base/try.hpp"

#include <algorithm>
#include <initializer_list>

namespace stacking::tokenizers::jinja {
namespace {

using StatementPtr = std::unique_ptr<Statement>;

class Parser {
 public:
    explicit Parser(std::vector<Token> tokens)
        : tokens_(std::move(tokens)), expressions_(tokens_) {}

    Result<Body> parse() {
        SWARM_TRY(Body body, parse_body({}));
        return body;
    }

 private:
    using Kind = Statement::Kind;
    using Choices = ExpressionParser::Choices;

    [[nodiscard]] StatementPtr make(Kind kind) const {
        auto statement = std::make_unique<Statement>();
        statement->kind = kind;
        statement->line = tokens_.line();
        return statement;
    }

    /// Reads statements up to {% one of `ends`, whose name is left to be read; with no ends up to
    /// the end of the template.
    Result<Body> parse_body(std::initializer_list<const char*> ends) {
        if (++depth_ > kNestingMax) {
            return beyond_bound("statements are nested deeper than " + std::to_string(kNestingMax));
        }
        Body body;
        while (!tokens_.is(Token::Kind::End)) {
            if (tokens_.is(Token::Kind::Data)) {
                StatementPtr data = make(Kind::Data);
                data->text = make_text(tokens_.take().text);
                body.push_back(std::move(data));
            } else if (tokens_.is(Token::Kind::PrintBegin)) {
                StatementPtr print = make(Kind::Print);
                tokens_.take();
                SWARM_TRY(print->expression, expressions_.parse_tuple());
                SWARM_TRY(tokens_.expect(Token::Kind::PrintEnd, "'}}'"));
                body.push_back(std::move(print));
            } else {
                SWARM_TRY(tokens_.expect(Token::Kind::BlockBegin, "a statement"));
                const auto is_here = [&](const char* end) { return tokens_.is_name(end); };
                if (std::any_of(ends.begin(), ends.end(), is_here)) {
                    --depth_;
                    return body;
                }
                SWARM_TRY(StatementPtr statement, parse_statement());
                SWARM_TRY(tokens_.expect(Token::Kind::BlockEnd, "'%}'"));
                body.push_back(std::move(statement));
            }
        }
        if (ends.size() > 0) {
            return tokens_.at_line(std::string("{% ") + *(ends.end() - 1) + " %} is missing");
        }
        return body;
    }

    /// Reads `%}`, the statements behind it, and the name of the end.
    Result<> parse_block(Body& body, const char* end) {
        SWARM_TRY(tokens_.expect(Token::Kind::BlockEnd, "'%}'"));
        SWARM_TRY(body, parse_body({end}));
        tokens_.take();
        return {};
    }

    Result<StatementPtr> parse_statement() {
        const std::string name = tokens_.is(Token::Kind::Name) ? tokens_.now().text : "";
        if (name == "if") {
            return parse_if();
        }
        if (name == "for") {
            return parse_for();
        }
        if (name == "set") {
            return parse_set();
        }
        if (name == "macro") {
            return parse_macro();
        }
        if (name == "call") {
            return parse_call();
        }
        if (name == "filter") {
            StatementPtr filter = make(Kind::Filter);
            tokens_.take();
            SWARM_TRY(filter->expression, expressions_.parse_filters(nullptr, true));
            SWARM_TRY(parse_block(filter->body, "endfilter"));
            return filter;
        }
        if (name == "with") {
            return parse_with();
        }
        if (name == "generation") {
            StatementPtr block = make(Kind::Block);
            tokens_.take();
            const std::uint32_t loops = std::exchange(loops_, 0);
            SWARM_TRY(parse_block(block->body, "endgeneration"));
            loops_ = loops;
            return block;
        }
        if (name == "break" || name == "continue") {
            if (loops_ == 0) {
                return tokens_.at_line("'" + name + "' outside of a loop");
            }
            StatementPtr statement = make(name == "break" ? Kind::Break : Kind::Continue);
            tokens_.take();
            return statement;
        }
        if (name == "include" || name == "import" || name == "extends" || name == "block" ||
            name == "from" || name == "do" || name == "autoescape" || name == "trans") {
            return unknown_part(
                "line " + std::to_string(tokens_.line()) + ": the tag '" + name +
                "' is not known here"
            );
        }
        return name.empty() ? tokens_.wanted("the name of a tag")
                            : tokens_.at_line("unknown tag '" + name.substr(0, 40) + "'");
    }

    Result<StatementPtr> parse_if() {
        StatementPtr statement = make(Kind::If);
        do {
            tokens_.take();  // if, elif
            Statement::Branch branch;
            SWARM_TRY(branch.condition, expressions_.parse_tuple(Choices::None));
            SWARM_TRY(tokens_.expect(Token::Kind::BlockEnd, "'%}'"));
            SWARM_TRY(branch.body, parse_body({"elif", "else", "endif"}));
            statement->branches.push_back(std::move(branch));
        } while (tokens_.is_name("elif"));
        if (tokens_.is_name("else")) {
            tokens_.take();
            SWARM_TRY(parse_block(statement->else_body, "endif"));
        } else {
            tokens_.take();
        }
        return statement;
    }

    /// Reads one target or several; `ends_at_in`: for the target of a for.
    Result<Target> parse_target() {
        SWARM_TRY(Target first, parse_one_target());
        if (!tokens_.is_operator(",")) {
            return first;
        }
        Target all;
        all.several.push_back(std::move(first));
        while (tokens_.take_operator(",") && !tokens_.is_name("in") && !tokens_.is_operator("=") &&
               !tokens_.is_operator(")")) {
            SWARM_TRY(Target next, parse_one_target());
            all.several.push_back(std::move(next));
        }
        return all;
    }

    Result<Target> parse_one_target() {
        if (tokens_.take_operator("(")) {
            if (++depth_ > kNestingMax) {
                return beyond_bound("targets are nested too deep");
            }
            SWARM_TRY(Target within, parse_target());
            --depth_;
            SWARM_TRY(tokens_.expect_operator(")"));
            return within;
        }
        Target target;
        SWARM_TRY(target.name, tokens_.expect_name());
        for (const char* const word : {"true", "false", "none", "True", "False", "None"}) {
            if (target.name == word) {
                return tokens_.at_line("'" + target.name + "' cannot be set");
            }
        }
        if (tokens_.take_operator(".")) {
            SWARM_TRY(target.attribute, tokens_.expect_name());
            if (target.attribute.starts_with('_')) {
                return tokens_.at_line("a name of a namespace begins with _");
            }
        }
        return target;
    }

    Result<StatementPtr> parse_for() {
        StatementPtr loop = make(Kind::For);
        tokens_.take();
        SWARM_TRY(loop->target, parse_target());
        if (!tokens_.take_name("in")) {
            return tokens_.wanted("'in'");
        }
        SWARM_TRY(loop->expression, expressions_.parse_tuple(Choices::None));
        if (tokens_.take_name("if")) {
            SWARM_TRY(loop->condition, expressions_.parse());
        }
        if (tokens_.is_name("recursive")) {
            return unknown_part(
                "line " + std::to_string(tokens_.line()) + ": a recursive for is not known here"
            );
        }
        SWARM_TRY(tokens_.expect(Token::Kind::BlockEnd, "'%}'"));
        ++loops_;
        SWARM_TRY(loop->body, parse_body({"else", "endfor"}));
        --loops_;
        if (tokens_.take().text == "else") {
            SWARM_TRY(parse_block(loop->else_body, "endfor"));
        }
        return loop;
    }

    Result<StatementPtr> parse_set() {
        StatementPtr set = make(Kind::Set);
        tokens_.take();
        SWARM_TRY(set->target, parse_target());
        if (tokens_.take_operator("=")) {
            SWARM_TRY(set->expression, expressions_.parse_tuple());
            return set;
        }
        set->kind = Kind::SetBlock;
        if (tokens_.is_operator("|")) {
            SWARM_TRY(set->expression, expressions_.parse_filters(nullptr, false));
        }
        SWARM_TRY(parse_block(set->body, "endset"));
        return set;
    }

    Result<StatementPtr> parse_with() {
        StatementPtr with = make(Kind::With);
        tokens_.take();
        while (!tokens_.is(Token::Kind::BlockEnd)) {
            SWARM_TRY(Target target, parse_one_target());
            SWARM_TRY(tokens_.expect_operator("="));
            SWARM_TRY(ExpressionPtr value, expressions_.parse());
            with->settings.emplace_back(std::move(target), std::move(value));
            if (!tokens_.take_operator(",")) {
                break;
            }
        }
        SWARM_TRY(parse_block(with->body, "endwith"));
        return with;
    }

    Result<> parse_parameters(MacroStatement& macro) {
        SWARM_TRY(tokens_.expect_operator("("));
        while (!tokens_.is_operator(")")) {
            MacroStatement::Parameter parameter;
            SWARM_TRY(parameter.name, tokens_.expect_name());
            if (tokens_.take_operator("=")) {
                SWARM_TRY(parameter.fallback, expressions_.parse());
            } else if (!macro.parameters.empty() && macro.parameters.back().fallback != nullptr) {
                return tokens_.at_line("a parameter without a default follows one with a default");
            }
            macro.parameters.push_back(std::move(parameter));
            if (!tokens_.take_operator(",")) {
                break;
            }
        }
        return tokens_.expect_operator(")");
    }

    /// Reads the body of a macro, or of the caller that a call gives.
    Result<> parse_macro_body(MacroStatement& macro, const char* end) {
        const std::uint32_t loops = std::exchange(loops_, 0);
        std::set<std::string> outer = expressions_.swap_used({});
        SWARM_TRY(parse_block(macro.body, end));
        loops_ = loops;
        macro.takes_caller = expressions_.has_used("caller");
        macro.takes_varargs = expressions_.has_used("varargs");
        macro.takes_kwargs = expressions_.has_used("kwargs");
        expressions_.swap_used(std::move(outer));
        return {};
    }

    Result<StatementPtr> parse_macro() {
        StatementPtr statement = make(Kind::Macro);
        tokens_.take();
        SWARM_TRY(statement->macro.name, tokens_.expect_name());
        SWARM_TRY(parse_parameters(statement->macro));
        SWARM_TRY(parse_macro_body(statement->macro, "endmacro"));
        return statement;
    }

    Result<StatementPtr> parse_call() {
        StatementPtr statement = make(Kind::Call);
        tokens_.take();
        statement->macro.name = "caller";
        if (tokens_.is_operator("(")) {
            SWARM_TRY(parse_parameters(statement->macro));
        }
        SWARM_TRY(statement->expression, expressions_.parse());
        if (statement->expression->kind != Expression::Kind::Call) {
            return tokens_.wanted("a call");
        }
        SWARM_TRY(parse_macro_body(statement->macro, "endcall"));
        return statement;
    }

    TokenStream tokens_;
    ExpressionParser expressions_;
    std::uint32_t depth_ = 0;  // bodies that are under way, one within the other
    std::uint32_t loops_ = 0;  // loops around, within the same macro
};

}  // namespace

Result<Body> parse_template(std::string_view text) {
    SWARM_TRY(std::vector<Token> tokens, read_tokens(text));
    return Parser(std::move(tokens)).parse();
}

}  // namespace stacking::tokenizers::jinja
