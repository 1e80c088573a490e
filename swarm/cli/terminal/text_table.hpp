// Rows of cells as lines whose columns stand below each other, two spaces apart.
// Threading: a pure function. Errors: none.
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <vector>

namespace swarm::cli {

using TableRow = std::vector<std::string>;

/// `numbers`: columns that end below each other. The cells of a row beyond those of the first one
/// are left out.
std::string text_table(const std::vector<TableRow>& rows, const std::set<std::size_t>& numbers);

}  // namespace swarm::cli
