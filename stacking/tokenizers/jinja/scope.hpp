// The variables of a template, in scopes: the template's, and within it those of each turn of a
// loop, each call of a macro and each block.
// Invariant: a name is set in the innermost scope; what is set within a loop is gone behind it.
// Threading: one thread.
#pragma once

#include "stacking/tokenizers/jinja/value.hpp"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace stacking::tokenizers::jinja {

struct Scope {
    Scope* outer = nullptr;
    bool captured = false;  // a macro stands in it or within it, and may outlive it
    std::vector<std::pair<std::string, Value>> names{};

    void set(std::string_view name, Value value) {
        for (auto& [known, old] : names) {
            if (known == name) {
                old = std::move(value);
                return;
            }
        }
        names.emplace_back(name, std::move(value));
    }

    /// Returns the value of a name here or further out; null: there is none.
    [[nodiscard]] const Value* find(std::string_view name) const {
        for (const Scope* scope = this; scope != nullptr; scope = scope->outer) {
            for (const auto& [known, value] : scope->names) {
                if (known == name) {
                    return &value;
                }
            }
        }
        return nullptr;
    }

    void capture() {
        for (Scope* scope = this; scope != nullptr; scope = scope->outer) {
            scope->captured = true;
        }
    }
};

}  // namespace stacking::tokenizers::jinja
