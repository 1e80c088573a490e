// The syntax tree of a template.
// Invariant: no tree is deeper than kNestingMax, so walking and freeing it needs a bounded stack.
// Threading: const and any thread.
#pragma once

#include "stacking/tokenizers/jinja/value.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace stacking::tokenizers::jinja {

struct Expression;
using ExpressionPtr = std::unique_ptr<Expression>;

/// Arguments as the template writes them.
struct ArgumentList {
    std::vector<ExpressionPtr> positional{};
    std::vector<std::pair<std::string, ExpressionPtr>> named{};
};

struct Expression {
    enum class Kind : std::uint8_t {
        Constant,    // value
        Name,        // name
        List,        // parts
        Tuple,       // parts
        Dict,        // parts: key, value, key, value ..
        Attribute,   // parts[0] . name
        Item,        // parts[0] [ parts[1] ]
        Slice,       // parts[0] [ parts[1] : parts[2] : parts[3] ]; null: left out
        Call,        // parts[0] ( arguments )
        Filter,      // parts[0] | name ( arguments ); null: the text of a block
        Test,        // parts[0] is name ( arguments )
        Choice,      // parts[1] if parts[0] else parts[2]; null: left out
        Unary,       // name: "-", "+", "not"
        Binary,      // name: "+", "and", ..
        Comparison,  // parts[0] names[0] parts[1] names[1] parts[2] ..
        Joined,      // parts[0] ~ parts[1] ~ ..
    };

    Kind kind = Kind::Constant;
    std::uint32_t line = 0;
    std::uint32_t depth = 1;
    std::string name{};
    Value value{};
    std::vector<ExpressionPtr> parts{};
    std::vector<std::string> names{};
    ArgumentList arguments{};
};

struct Statement;
using Body = std::vector<std::unique_ptr<Statement>>;

/// Where `set` and `for` put a value: one name, an attribute of a namespace, or several targets.
struct Target {
    std::string name{};
    std::string attribute{};
    std::vector<Target> several{};
};

/// The parameters of a macro.
struct MacroStatement {
    struct Parameter {
        std::string name{};
        ExpressionPtr fallback{};  // null: none
    };

    std::string name{};
    std::vector<Parameter> parameters{};
    Body body{};
    bool takes_caller = false;  // the body names `caller`
    bool takes_varargs = false;
    bool takes_kwargs = false;
};

struct Statement {
    enum class Kind : std::uint8_t {
        Data,      // text
        Print,     // expression
        If,        // branches, else_body
        For,       // target, expression, condition, body, else_body
        Set,       // target, expression
        SetBlock,  // target, expression: its filters or null, body
        Filter,    // expression: its filters, body
        Block,     // body in a scope of its own: generation
        With,      // settings, body
        Macro,     // macro
        Call,      // expression, macro: its caller
        Break,
        Continue,
    };

    struct Branch {
        ExpressionPtr condition{};
        Body body{};
    };

    Kind kind = Kind::Data;
    std::uint32_t line = 0;
    Value text{};
    ExpressionPtr expression{};
    ExpressionPtr condition{};
    Target target{};
    std::vector<std::pair<Target, ExpressionPtr>> settings{};
    std::vector<Branch> branches{};
    Body body{};
    Body else_body{};
    MacroStatement macro{};
};

}  // namespace stacking::tokenizers::jinja
