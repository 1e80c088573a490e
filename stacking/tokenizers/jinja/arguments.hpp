// The arguments of a call by the names of its parameters.
// Threading: pure functions. Errors: Malformed: an argument too many, an unknown name, a wrong
// type.
#pragma once

#include "stacking/tokenizers/jinja/value.hpp"

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace stacking::tokenizers::jinja {

class BoundArguments {
 public:
    /// `names`: the parameters in their order. `function`: its name, for errors.
    static Result<BoundArguments> bind(
        std::string_view function,
        const Arguments& given,
        std::initializer_list<std::string_view> names
    );

    /// Returns the argument at a place; null: not given.
    [[nodiscard]] const Value* find(std::size_t place) const {
        return values_[place] ? &*values_[place] : nullptr;
    }

    /// Returns the argument; an error: not given.
    [[nodiscard]] Result<Value> need(std::size_t place) const;

    [[nodiscard]] bool is_true(std::size_t place, bool fallback = false) const {
        return values_[place] ? values_[place]->is_true() : fallback;
    }

    [[nodiscard]] Result<std::int64_t> integer(std::size_t place, std::int64_t fallback) const;

    /// Returns the text, which lives as long as this object; null: not given, or None.
    [[nodiscard]] Result<const Text*> text(std::size_t place) const;

 private:
    std::string function_;
    std::vector<std::string> names_;
    std::vector<std::optional<Value>> values_;
};

}  // namespace stacking::tokenizers::jinja
