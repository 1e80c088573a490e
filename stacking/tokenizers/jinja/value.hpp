// A value of a template, with Python's meaning: undefined, None, bool, int of 64 bits, float, str,
// list, tuple, dict, and what only templates have: namespaces, loops, functions.
// Invariant: all values but namespaces and the state of loops are immutable, as the sandbox that
// chat templates are written for demands. Lists and dicts are at most kValueDepthMax deep.
// Namespaces, loops and scopes belong to the rendering (Context), which outlives its values.
// Threading: const and any thread.
#pragma once

#include "stacking/tokenizers/jinja/failure.hpp"
#include "stacking/tokenizers/jinja/limits.hpp"
#include "stacking/tokenizers/jinja/text.hpp"

#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace stacking::tokenizers::jinja {

struct List;
struct Dict;
struct Namespace;
struct Loop;
struct Callable;

struct Undefined {
    std::shared_ptr<const std::string> what;  // "'x' is undefined"
};

struct None {};

class Value {
 public:
    using Kind = std::variant<
        Undefined,
        None,
        bool,
        std::int64_t,
        double,
        std::shared_ptr<const Text>,
        std::shared_ptr<const List>,
        std::shared_ptr<const Dict>,
        Namespace*,
        Loop*,
        std::shared_ptr<const Callable>>;

    Value() = default;

    // NOLINTBEGIN(google-explicit-constructor): each of them is a value
    Value(None none) : kind_(none) {}

    Value(bool truth) : kind_(truth) {}

    Value(std::int64_t number) : kind_(number) {}

    Value(double number) : kind_(number) {}

    Value(Text text) : kind_(std::make_shared<const Text>(std::move(text))) {}

    Value(Namespace* names) : kind_(names) {}

    Value(Loop* loop) : kind_(loop) {}

    Value(std::shared_ptr<const List> list) : kind_(std::move(list)) {}

    Value(std::shared_ptr<const Dict> dict) : kind_(std::move(dict)) {}

    Value(std::shared_ptr<const Callable> callable) : kind_(std::move(callable)) {}

    // NOLINTEND(google-explicit-constructor)
    Value(const char*) = delete;  // it would become a bool

    static Value undefined(std::string what) {
        Value value;
        value.kind_ = Undefined{std::make_shared<const std::string>(std::move(what))};
        return value;
    }

    static Value size(std::size_t count) { return {static_cast<std::int64_t>(count)}; }

    [[nodiscard]] bool is_undefined() const { return std::holds_alternative<Undefined>(kind_); }

    [[nodiscard]] bool is_none() const { return std::holds_alternative<None>(kind_); }

    // Each returns null for a value of another type.
    [[nodiscard]] const bool* boolean() const { return std::get_if<bool>(&kind_); }

    [[nodiscard]] const std::int64_t* integer() const { return std::get_if<std::int64_t>(&kind_); }

    [[nodiscard]] const double* real() const { return std::get_if<double>(&kind_); }

    [[nodiscard]] const Text* text() const { return pointed<Text>(); }

    [[nodiscard]] const List* list() const { return pointed<List>(); }

    /// REQUIRES: list() is not null.
    [[nodiscard]] const std::shared_ptr<const List>& shared_list() const {
        return std::get<std::shared_ptr<const List>>(kind_);
    }

    [[nodiscard]] const Dict* dict() const { return pointed<Dict>(); }

    [[nodiscard]] const Callable* callable() const { return pointed<Callable>(); }

    [[nodiscard]] Namespace* names() const { return plain<Namespace>(); }

    [[nodiscard]] Loop* loop() const { return plain<Loop>(); }

    /// Returns the number of an int or a bool, which is an int in Python; nullopt for others.
    [[nodiscard]] std::optional<std::int64_t> as_integer() const;

    /// The same for floats, too.
    [[nodiscard]] std::optional<double> as_real() const;

    [[nodiscard]] bool is_true() const;

    /// Depth of lists and dicts within; 0 for others.
    [[nodiscard]] std::uint32_t depth() const;

    /// Cost of a walk over the value and all that is within, in steps.
    [[nodiscard]] std::uint64_t weight() const;

    /// Python's name of the type, for errors: "str".
    [[nodiscard]] std::string type_name() const;

 private:
    template <class T>
    [[nodiscard]] const T* pointed() const {
        const auto* const found = std::get_if<std::shared_ptr<const T>>(&kind_);
        return found == nullptr ? nullptr : found->get();
    }

    template <class T>
    [[nodiscard]] T* plain() const {
        T* const* const found = std::get_if<T*>(&kind_);
        return found == nullptr ? nullptr : *found;
    }

    friend std::string undefined_message(const Value& value);

    Kind kind_;
};

/// Says why the value is undefined. REQUIRES: it is.
std::string undefined_message(const Value& value);

/// Lists, and all that is read like one. An Iterator is what filters such as `map` give: it has
/// neither length nor places in Python, and the other kinds have names of their own in print.
struct List {
    enum class Kind : std::uint8_t { List, Tuple, Range, Keys, Values, Items, Iterator };

    std::vector<Value> items{};
    Kind kind = Kind::List;
    std::uint32_t depth = 1;
    std::uint64_t weight = 1;
    std::string printed{};  // that of a Range: "range(0, 3)"
};

/// Entries stay in the order in which they came. make_dict() makes it. Cost of find(): logarithmic.
struct Dict {
    using Entry = std::pair<Value, Value>;

    std::vector<Entry> entries{};
    std::vector<std::uint32_t> by_key{};  // places of the entries in the order of their keys
    std::uint32_t depth = 1;
    std::uint64_t weight = 1;

    [[nodiscard]] const Value* find(const Value& key) const;
    [[nodiscard]] const Value* find(std::string_view key) const;
};

/// `namespace(...)`: the one thing that a template can change.
struct Namespace {
    std::map<std::string, Value, std::less<>> names{};

    [[nodiscard]] const Value* find(std::string_view name) const;
    void set(std::string_view name, Value value);
};

/// `loop` within a for.
struct Loop {
    std::shared_ptr<const List> items{};
    std::size_t at = 0;
    std::optional<Value> changed{};  // the last argument of loop.changed()
};

struct Arguments {
    std::vector<Value> positional{};
    std::vector<std::pair<std::string, Value>> named{};
};

struct MacroStatement;
struct Scope;

/// Something that a template can call.
struct Callable {
    enum class Kind : std::uint8_t { Macro, Method, Global };

    Kind kind = Kind::Global;
    std::string name{};                     // name of a method or a global
    Value self{};                           // the value whose method it is
    const MacroStatement* macro = nullptr;  // that of the template
    Scope* scope = nullptr;                 // in which the macro stands
};

// Both refuse lists and dicts that are too long, too deep, or too heavy: a list that holds another
// one twice, which holds a third one twice, has few elements and takes for ever to print.
Result<Value> make_list(std::vector<Value> items, List::Kind kind = List::Kind::List);

/// A key that comes twice has its first place and its last value. Errors: also a value that can be
/// no key, such as a list.
Result<Value> make_dict(std::vector<Dict::Entry> entries);

inline Value make_text(std::string_view bytes) {
    return Text(bytes);
}

/// Python's ==.
bool are_equal(const Value& left, const Value& right);

/// Whether a value can be the key of a dict: a text, a number, None, undefined, a tuple of these.
bool can_be_key(const Value& value);

/// A total order of keys. Keys that are == are equal in it, and so is NaN to itself.
/// REQUIRES: can_be_key() of both.
std::strong_ordering order_of_keys(const Value& left, const Value& right);

/// Python's < and >; unordered: NaN. Errors: values that have no order.
Result<std::partial_ordering> order_of(const Value& left, const Value& right);

}  // namespace stacking::tokenizers::jinja
