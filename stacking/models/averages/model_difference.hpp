// The first thing in which two models differ, so that no average of their weights means anything.
// Compared is what the computation follows from: shapes and traits. Numbers are compared as fp32,
// because GGUF stores them so; windows count as far as both contexts reach. Names, contexts, and
// the tokens at which a text begins and ends do not count.
// Threading: pure functions. Errors: none. Cost: O(layers).
#pragma once

#include "stacking/models/architecture.hpp"

#include <optional>
#include <string>

namespace stacking::models {

struct Difference {
    std::string what;  // "layers"
    std::string first;
    std::string second;
};

/// nullopt: there is none. REQUIRES: checked architectures.
std::optional<Difference> difference_of(const Architecture& first, const Architecture& second);

}  // namespace stacking::models
