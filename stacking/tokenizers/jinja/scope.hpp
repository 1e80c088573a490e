// The variables of a template, in scopes: the template's, and within it those of each turn of a
// loop, each call of a macro and each block.
// Invariant: a name is set in the innermost scope; what is set within a loop is gone behind it.
// Threading: one thread. Cost: a look-up is logarithmic in the names of each scope.
#pragma once

#include "stacking/tokenizers/jinja/value.hpp"

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>

namespace stacking::tokenizers::jinja {

struct Scope {
    Scope* outer = nullptr;
    bool captured = false;  // a macro stands in it or within it, and may outlive it
    std::size_t depth = 1;  // number of scopes up to the outermost
    std::map<std::string, Value, std::less<>> names{};

    void set(std::string_view name, Value value) {
        const auto found = names.lower_bound(name);
        if (found != names.end() && found->first == name) {
            found->second = std::move(value);
        } else {
            names.emplace_hint(found, name, std::move(value));
        }
    }

    /// Returns the value of a name here or further out; null: there is none.
    [[nodiscard]] const Value* find(std::string_view name) const {
        for (const Scope* scope = this; scope != nullptr; scope = scope->outer) {
            const auto found = scope->names.find(name);
            if (found != scope->names.end()) {
                return &found->second;
            }
        }
        return nullptr;
    }

    void capture() {
        // Scopes around a captured one are captured already.
        for (Scope* scope = this; scope != nullptr && !scope->captured; scope = scope->outer) {
            scope->captured = true;
        }
    }
};

}  // namespace stacking::tokenizers::jinja
